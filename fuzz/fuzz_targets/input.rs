//! How the fuzzer's bytes become a stream and the cuts through it.

/// The stream, and the pieces that the cuts make of it.
pub fn stream_and_pieces(input: &[u8]) -> Option<(&[u8], Vec<Vec<u8>>)> {
    let (&count, rest) = input.split_first()?;
    let count = usize::from(count % 16);
    let (cuts, stream) = rest.split_at_checked(2 * count)?;
    let place = |pair: &[u8]| {
        usize::from(u16::from_le_bytes([pair[0], pair[1]])) % (stream.len() + 1)
    };
    let mut places: Vec<usize> = cuts.chunks_exact(2).map(place).collect();
    places.extend([0, stream.len()]);
    places.sort_unstable();
    places.dedup();
    let pieces = places.windows(2).map(|pair| stream[pair[0]..pair[1]].to_vec()).collect();
    Some((stream, pieces))
}
