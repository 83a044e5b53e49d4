//! Whether the server has a prefix cache: the same long prompt twice, and another one.

use super::{Finding, Grade, Inquiry, Section};
use ifm_workload::{Generator, RandomSpec};
use serde_json::{Value, json};

/// Tokens of the first prompt, which also shows how fast the server reads.
const FIRST_TOKENS: u32 = 256;
/// Longest prompt.
const TOKENS_MAX: u32 = 2048;
/// Maximum time for reading one of the prompts, seconds, estimated from the first one.
const READING_S: f64 = 0.7;
/// Ratio of the first time to the second above which the difference is significant.
const RATIO_MIN: f64 = 2.0;

/// One prompt of a length that the server reads in reasonable time, twice; then a new one.
pub fn ask(inquiry: &mut Inquiry) -> Vec<Finding> {
    let id = (Section::Prompts, "prefix_cache");
    vec![look(inquiry).unwrap_or_else(|why| Finding::unknown(id, why))]
}

struct Read {
    seconds: f64,
    tokens: u32,
    cached: Option<u32>,
}

fn look(inquiry: &mut Inquiry) -> Result<Finding, String> {
    let trial = read(inquiry, 0, FIRST_TOKENS)?;
    let room = inquiry.server.context_tokens.map_or(TOKENS_MAX, |tokens| tokens / 2);
    let time = READING_S.min(inquiry.left_s() / 6.0);
    let affordable = (f64::from(FIRST_TOKENS) * time / trial.seconds) as u32;
    let tokens = affordable.min(TOKENS_MAX).min(room).max(FIRST_TOKENS.min(room)).max(1);
    let cold = read(inquiry, 1, tokens)?;
    let mut warm = read(inquiry, 1, tokens)?;
    let again = read(inquiry, 1, tokens)?;
    warm.seconds = warm.seconds.min(again.seconds);
    let other = read(inquiry, 2, tokens)?;
    Ok(judge(&cold, &warm, &other))
}

fn judge(cold: &Read, warm: &Read, other: &Read) -> Finding {
    let id = (Section::Prompts, "prefix_cache");
    let ms = |read: &Read| read.seconds * 1e3;
    let how = format!(
        "{} tokens took {:.1} ms, the same again {:.1} ms, others {:.1} ms",
        cold.tokens,
        ms(cold),
        ms(warm),
        ms(other)
    );
    let ratio = cold.seconds.min(other.seconds) / warm.seconds.max(1e-9);
    let means = "prompts have to be new to the server, as they are by default; a seed used twice measures the cache";
    let value =
        |is_on: Value| json!({"on": is_on, "cached_tokens": warm.cached, "ttft_ratio": ratio});
    let fresh = cold.cached.unwrap_or(0).max(other.cached.unwrap_or(0));
    match warm.cached {
        Some(cached) if cached > fresh.max(warm.tokens / 4) => Finding::known(
            id,
            Grade::Note,
            value(true.into()),
            format!("yes: {cached} of {} tokens cached", warm.tokens),
        )
        .means(means),
        _ if ratio >= RATIO_MIN => Finding::known(
            id,
            Grade::Note,
            value(Value::Null),
            format!("probably: TTFT {ratio:.1} times shorter for a repeated prompt"),
        )
        .means(means),
        _ => Finding::known(id, Grade::Good, value(false.into()), "no sign of one"),
    }
    .how(how)
}

/// Sends the prompt with a number, and requests one token.
fn read(inquiry: &mut Inquiry, number: u32, tokens: u32) -> Result<Read, String> {
    let spec = RandomSpec::fixed(tokens, 1, inquiry.seed).map_err(|error| error.to_string())?;
    let generator =
        Generator::random(&spec, &inquiry.tokenizer).map_err(|error| error.to_string())?;
    let item = generator.item(number).map_err(|error| error.to_string())?;
    let turn = item.turns.first().ok_or("the workload produced nothing")?;
    let text = turn.prompt.as_text().ok_or("the workload produced no text")?.to_owned();
    let heard = inquiry.say(&text, 1, false, Value::Null)?;
    Ok(Read {
        seconds: heard.reply.took_ns() as f64 / 1e9,
        tokens: heard.answer.prompt_tokens.map_or(tokens, |counted| counted.tokens),
        cached: heard.answer.usage.cached_tokens,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_told_by_counts_or_by_times() {
        let read = |ms: f64, cached| Read { seconds: ms / 1e3, tokens: 1000, cached };
        let text = |cold, warm, other| judge(&cold, &warm, &other).text;
        let told = text(read(30.0, Some(0)), read(4.0, Some(960)), read(31.0, Some(0)));
        assert_eq!(told, "yes: 960 of 1000 tokens cached");
        let told = text(read(60.0, None), read(5.0, None), read(50.0, None));
        assert_eq!(told, "probably: TTFT 10.0 times shorter for a repeated prompt");
        // The first prompt was slow only because the server was cold.
        assert_eq!(text(read(90.0, None), read(30.0, None), read(31.0, None)), "no sign of one");
        // Only the template is cached, for every prompt.
        let told = text(read(30.0, Some(300)), read(30.0, Some(300)), read(30.0, Some(300)));
        assert_eq!(told, "no sign of one");
    }
}
