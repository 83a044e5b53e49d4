# A formula for Homebrew; `cargo xtask dist --releases URL` fills in what is in braces.
class Inferometer < Formula
  desc "Laboratory in one binary for the speed of LLM inference"
  homepage "{homepage}"
  version "{version}"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    depends_on arch: :arm64
    url "{releases}/v{version}/inferometer-{version}-aarch64-apple-darwin.tar.gz"
    sha256 "{sha256:aarch64-apple-darwin}"
  end

  on_linux do
    on_intel do
      url "{releases}/v{version}/inferometer-{version}-x86_64-unknown-linux-gnu.tar.gz"
      sha256 "{sha256:x86_64-unknown-linux-gnu}"
    end
    on_arm do
      url "{releases}/v{version}/inferometer-{version}-aarch64-unknown-linux-gnu.tar.gz"
      sha256 "{sha256:aarch64-unknown-linux-gnu}"
    end
  end

  def install
    bin.install "inferometer"
    man1.install Dir["man/man1/*"]
    generate_completions_from_executable(bin/"inferometer", "completions")
  end

  test do
    assert_match "run format", shell_output("#{bin}/inferometer --version --verbose")
  end
end
