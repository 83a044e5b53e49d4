//! Short ways to describe a chart: the parts that most charts have, in one call each.
//!
//! Not here: what the parts mean (`description`).

use crate::{
    Axis, Cartesian, Chart, Form, GREY, Guide, Mark, Plot, Point, Scale, Second, Series, Weight,
};

/// Colours of the palette before it begins again.
const COLORS: usize = 8;

impl Chart {
    /// A chart over two axes.
    pub fn new(
        id: impl Into<String>,
        title: impl Into<String>,
        description: impl Into<String>,
        plot: Cartesian,
    ) -> Chart {
        let (id, title, description) = (id.into(), title.into(), description.into());
        let subject = String::new();
        Chart { id, title, subject, description, plot: Plot::Cartesian(plot) }
    }
}

impl Cartesian {
    /// Series over two axes.
    pub fn new(x: Axis, y: Axis, series: Vec<Series>) -> Cartesian {
        Cartesian { x, y, series, ..Cartesian::default() }
    }

    /// With lines and zones to read the figures against.
    #[must_use]
    pub fn guided(mut self, guides: impl IntoIterator<Item = Guide>) -> Cartesian {
        self.guides.extend(guides);
        self
    }

    /// With categories down the left side.
    #[must_use]
    pub fn horizontal(mut self) -> Cartesian {
        self.is_horizontal = true;
        self
    }

    /// With a switch between a linear and a logarithmic axis.
    #[must_use]
    pub fn switched(mut self) -> Cartesian {
        self.has_switch = true;
        self
    }
}

impl Axis {
    /// An even axis from zero.
    pub fn new(name: impl Into<String>, unit: impl Into<String>) -> Axis {
        Axis { name: name.into(), unit: unit.into(), ..Axis::default() }
    }

    /// An axis of names.
    pub fn of_names(names: impl IntoIterator<Item = impl Into<String>>) -> Axis {
        Axis::default().scaled(Scale::Category(names.into_iter().map(Into::into).collect()))
    }

    /// With another scale.
    #[must_use]
    pub fn scaled(mut self, scale: Scale) -> Axis {
        self.scale = scale;
        self
    }

    /// With a second reading of the same places.
    #[must_use]
    pub fn read_as(mut self, second: Second) -> Axis {
        self.second = Some(second);
        self
    }
}

impl Series {
    /// Figures of one thing, joined by a line.
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = Point>) -> Series {
        let points = points.into_iter().collect();
        Series { name: name.into(), points, ..Series::default() }
    }

    /// A limit or a range behind the others: gray, without marks.
    pub fn reference(name: impl Into<String>, points: impl IntoIterator<Item = Point>) -> Series {
        Series { color: GREY, mark: Mark::None, ..Series::new(name, points) }
    }

    /// Drawn otherwise than by a line.
    #[must_use]
    pub fn form(mut self, form: Form) -> Series {
        self.form = form;
        self
    }

    /// With the colour of the thing of this number.
    #[must_use]
    pub fn of(mut self, thing: usize) -> Series {
        self.color = u8::try_from(thing % COLORS).unwrap_or(0);
        self
    }

    /// Standing out more, or less.
    #[must_use]
    pub fn weighing(mut self, weight: Weight) -> Series {
        self.weight = weight;
        self
    }
}

impl Point {
    /// A figure at a place.
    pub fn at(x: f64, y: f64) -> Point {
        Point { x, y: Some(y), ..Point::default() }
    }

    /// As the tables print it.
    #[must_use]
    pub fn told(mut self, text: impl Into<String>) -> Point {
        self.text = Some(text.into());
        self
    }

    /// With its interval.
    #[must_use]
    pub fn between(mut self, low: Option<f64>, high: Option<f64>) -> Point {
        (self.low, self.high) = (low, high);
        self
    }

    /// Hollow where it is outside the limit or not trusted.
    #[must_use]
    pub fn trusted(mut self, is_trusted: bool) -> Point {
        self.is_trusted = is_trusted;
        self
    }
}
