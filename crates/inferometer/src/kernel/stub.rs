use ifm_kernels::mask::PlacedMask;
pub struct Given<'a> {
    pub heads: (usize, usize),
    pub width: usize,
    pub inputs: [&'a [f32]; 4],
}
pub struct Reference;
impl Reference {
    pub fn new(_: &PlacedMask, _: &Given<'_>, _: bool) -> Self {
        Reference
    }
    pub fn errors(&self, _: &[f32], _: Option<[&[f32]; 3]>) -> Vec<(&'static str, f64)> {
        vec![("out", 0.0)]
    }
}
