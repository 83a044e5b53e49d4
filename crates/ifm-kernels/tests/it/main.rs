//! Products against the definition, in double precision.

mod products;
