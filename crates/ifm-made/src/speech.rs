//! Synthetic sound: syllables of moving tones, and pauses between words.
//!
//! A model that hears silence may stop at once, and one that hears noise may never, so made-up sound
//! moves as speech does: a voice whose pitch glides, its overtones shaped by two resonances, a syllable
//! every fifth of a second, a pause every few syllables. It says nothing.
//!
//! Not here: files of sound (`sound`, `flac`).

use std::f64::consts::TAU;

use crate::Draws;

/// Steps of the table of a sine.
const TABLE: usize = 4096;
/// Overtones of the voice.
const OVERTONES: u32 = 12;
/// Maximum amplitude of the voice, of 1.
const LOUDNESS: f64 = 0.25;

/// Samples from -1 to 1: this many, at this rate.
pub fn draw(samples: usize, rate: u32, draws: &mut Draws) -> Vec<f32> {
    let table: Vec<f32> =
        (0..TABLE).map(|step| libm::sin(TAU * step as f64 / TABLE as f64) as f32).collect();
    let mut sound = Vec::with_capacity(samples);
    let rate = f64::from(rate);
    let mut left = 0;
    let mut phase = 0.0;
    while sound.len() < samples {
        if left == 0 {
            // A pause between words, and a new word of some syllables.
            left = draws.within(2, 7);
            let pause = (0.08 + 0.32 * draws.unit()) * rate;
            sound.extend((0..pause as usize).map(|_| (draws.unit() as f32 - 0.5) * 0.004));
        }
        left -= 1;
        syllable(&mut sound, rate, &mut phase, &table, draws);
    }
    sound.truncate(samples);
    sound
}

/// One syllable.
fn syllable(sound: &mut Vec<f32>, rate: f64, phase: &mut f64, table: &[f32], draws: &mut Draws) {
    let length = ((0.12 + 0.14 * draws.unit()) * rate).max(1.0);
    let (from, to) = (90.0 + 120.0 * draws.unit(), 90.0 + 120.0 * draws.unit());
    let resonances = [300.0 + 500.0 * draws.unit(), 900.0 + 1500.0 * draws.unit()];
    let pitch = f64::midpoint(from, to);
    let strengths: Vec<f64> = (1..=OVERTONES)
        .map(|number| {
            let tone = pitch * f64::from(number);
            let heard = resonances.iter().map(|middle| {
                let off = (tone - middle) / 250.0;
                1.0 / (1.0 + off * off)
            });
            // Nothing above what the rate can hold.
            if tone * 1.5 > rate / 2.0 { 0.0 } else { heard.sum::<f64>() + 0.1 / f64::from(number) }
        })
        .collect();
    let sum = strengths.iter().sum::<f64>().max(1e-9);
    for place in 0..length as usize {
        let part = place as f64 / length;
        // Louder in the middle: 4x(1 - x) is 1 there and 0 at both ends.
        let envelope = 4.0 * part * (1.0 - part) * LOUDNESS / sum;
        *phase += (from + (to - from) * part) / rate;
        *phase -= phase.floor();
        let tones = (1..).zip(&strengths).map(|(number, strength)| {
            let step = (*phase * f64::from(number) * TABLE as f64) as usize % TABLE;
            f64::from(table.get(step).copied().unwrap_or(0.0)) * strength
        });
        sound.push((tones.sum::<f64>() * envelope) as f32);
    }
}
