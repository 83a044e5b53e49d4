//! What a capacity is worth: people, servers, money.

/// People who cause requests in flight: a person thinks between two requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct People {
    /// Seconds that a request takes.
    pub busy_s: f64,
    /// Seconds between an answer and the next request.
    pub think_s: f64,
    /// People who together keep this many requests in flight on average: `users · (busy + think) /
    /// busy` (Little's law, applied to the whole cycle of a person).
    pub people: f64,
}

/// Seconds that a request has one of `users` who never pause, where `req_per_s` are answered:
/// `users / rate` (Little's law). The mean E2E of a measurement is a little less than that: the requests
/// at its end have the server for fewer. Absent for no rate.
pub fn busy_s(users: f64, req_per_s: f64) -> Option<f64> {
    (req_per_s > 0.0 && users > 0.0).then(|| users / req_per_s)
}

/// People whose requests keep `users` in flight, with a mean request of `busy_s` seconds and a
/// pause of `think_s`. Absent unless the request takes time and the pause is not negative.
pub fn people(users: f64, busy_s: f64, think_s: f64) -> Option<People> {
    let is_possible = busy_s > 0.0 && think_s >= 0.0 && busy_s.is_finite() && think_s.is_finite();
    is_possible.then(|| People { busy_s, think_s, people: users * (busy_s + think_s) / busy_s })
}

/// Servers for a number of people if one server serves `per_server`, of which a share is kept free:
/// `ceil(target / (per_server · (1 − headroom)))`. Absent unless the headroom is a share below 1
/// and a server serves at least one person.
pub fn replicas(target: f64, per_server: f64, headroom: f64) -> Option<u64> {
    let usable = per_server * (1.0 - headroom);
    let is_possible = (0.0..1.0).contains(&headroom) && usable > 0.0 && target >= 0.0;
    is_possible.then(|| (target / usable).ceil() as u64)
}

/// What an hour of one server costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Money per hour of the whole server, in any currency.
    pub per_hour: f64,
}

/// What tokens cost at a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Economics {
    /// Output tokens per hour.
    pub output_tok_per_hour: f64,
    /// Money per million output tokens, all cost laid on them.
    pub per_million_output: f64,
}

impl Price {
    /// Cost of output tokens at this rate. Absent if the rate is zero.
    pub fn of(self, output_tok_per_s: f64) -> Option<Economics> {
        let output_tok_per_hour = output_tok_per_s * 3600.0;
        (output_tok_per_hour > 0.0).then(|| Economics {
            output_tok_per_hour,
            per_million_output: self.per_hour / output_tok_per_hour * 1e6,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_think_between_requests() {
        // 88 in flight, 6.4 s each, 30 s pauses: 88 · 36.4 / 6.4.
        let found = people(88.0, 6.4, 30.0).unwrap();
        assert!((found.people - 500.5).abs() < 1e-9);
        assert_eq!(people(88.0, 6.4, 0.0).unwrap().people, 88.0);
        // 88 at 13.75 per second are busy for 6.4 s each: 88 people are waiting, 13.75 · 30 think.
        assert_eq!(busy_s(88.0, 13.75), Some(6.4));
        assert!((found.people - (88.0 + 13.75 * 30.0)).abs() < 1e-9);
        assert_eq!(busy_s(88.0, 0.0), None);
        assert!(people(1.0, 0.0, 1.0).is_none() && people(1.0, 1.0, -1.0).is_none());
    }

    #[test]
    fn servers_are_whole() {
        assert_eq!(replicas(5000.0, 500.0, 0.2), Some(13));
        assert_eq!(replicas(500.0, 500.0, 0.0), Some(1));
        assert_eq!(replicas(501.0, 500.0, 0.0), Some(2));
        assert!(replicas(1.0, 0.0, 0.0).is_none() && replicas(1.0, 1.0, 1.0).is_none());
    }

    #[test]
    fn a_million_tokens_at_a_rate() {
        // 4250 tok/s are 15.3 million an hour; 1.80 per hour is 0.1176 per million.
        let found = Price { per_hour: 1.8 }.of(4250.0).unwrap();
        assert!((found.output_tok_per_hour - 15.3e6).abs() < 1.0);
        assert!((found.per_million_output - 0.117_647).abs() < 1e-6);
        assert!(Price { per_hour: 1.8 }.of(0.0).is_none());
    }
}
