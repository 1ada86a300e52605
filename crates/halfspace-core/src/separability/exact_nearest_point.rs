//! The point of a sample's hull nearest to 0, in whole numbers: the margin where f64 does not
//! reach it.
//!
//! P. Wolfe, "Finding the nearest point in a polytope" (1976). The hull of the vectors a_i has the
//! hyperplane of largest margin, bias in the norm, for its nearest point; where the bias is not in
//! the norm, it is the hull of the differences of a positive and a negative example, which forget
//! the bias. The method keeps a few vertices and the nearest point of the flat through them; the
//! vertex lowest in the direction of that point enters, and those leave that the next nearest
//! point would need a negative weight for. In exact arithmetic the distance falls with every
//! vertex that enters, the vertices kept are affinely independent, and so it ends.

use num_bigint::BigInt;
use num_traits::{One, Signed, Zero};

use crate::learners::run::{Interrupt, Run};

use super::examples::{SignedExamples, look};
use super::proved_margin::Norm;
use super::rounding::reduce;

/// Products of machine words in systems of equations, roughly, after which no vertex enters: seconds.
const WORK_MAX: u64 = 1 << 29;

/// Vertices that enter, at most.
const ENTRIES_MAX: usize = 2000;

/// Coordinates of which vertices enter: numbers grow with every one.
const COORDINATES_MAX: usize = 64;

/// A point is near enough when no vertex is lower than it by one part in 2 to this.
const NEAR_ENOUGH_BITS: u32 = 33;

/// A point of the hull, in units of 2 to minus the shift of the examples.
pub struct HullPoint {
    /// The point times `total`.
    pub point: Vec<BigInt>,
    /// Above 0.
    pub total: BigInt,
    /// The point itself, or the separator where that is not one yet.
    pub direction: Vec<BigInt>,
    /// The least inner product of `direction` with a vertex, above 0.
    pub least_product: BigInt,
}

/// The point of the hull nearest to 0, or near it when the method was cut short, for a sample that
/// `separator` separates.
///
/// # Errors
/// The interrupt that cut it short.
pub fn nearest_hull_point(
    examples: &SignedExamples<'_>,
    separator: &[BigInt],
    norm: Norm,
    run: &Run,
) -> Result<HullPoint, Interrupt> {
    let coordinates = norm.squared(examples.coordinates());
    let separator = &separator[..coordinates];
    let (least_of_separator, first) = lowest_vertex(examples, separator, norm, run)?;
    let entries_max = match coordinates <= COORDINATES_MAX {
        true => ENTRIES_MAX,
        false => 0,
    };
    let mut kept = Kept {
        vertices: vec![first],
        weights: vec![BigInt::one()],
        work: 0,
    };
    let mut entries = 0;
    loop {
        let (point, total) = kept.point();
        let (least_product, vertex) = lowest_vertex(examples, &point, norm, run)?;
        let square = dot(&point, &point);
        let is_near = &least_product * &total + (&square >> NEAR_ENOUGH_BITS) >= square;
        if is_near || entries == entries_max || kept.work > WORK_MAX {
            let (direction, least_product) = match least_product.is_positive() {
                true => (point.clone(), least_product),
                false => (separator.to_vec(), least_of_separator),
            };
            return Ok(HullPoint {
                point,
                total,
                direction,
                least_product,
            });
        }
        kept.enter(vertex, run)?;
        entries += 1;
    }
}

/// The vertex of least inner product with `direction`, and that product.
fn lowest_vertex(
    examples: &SignedExamples<'_>,
    direction: &[BigInt],
    norm: Norm,
    run: &Run,
) -> Result<(BigInt, Vec<BigInt>), Interrupt> {
    let mut weights = direction.to_vec();
    weights.resize(examples.coordinates(), BigInt::zero());
    let mut lowest: [Option<(BigInt, usize)>; 2] = [None, None];
    examples.for_each_product(&weights, run, |index, product| {
        let kind = match norm {
            Norm::WithBias => 0,
            Norm::WithoutBias => usize::from(examples.is_negative(index)),
        };
        if lowest[kind]
            .as_ref()
            .is_none_or(|(least, _)| product < *least)
        {
            lowest[kind] = Some((product, index));
        }
    })?;
    let mut vertex = vec![BigInt::zero(); examples.coordinates()];
    let mut least = BigInt::zero();
    for (product, index) in lowest.into_iter().flatten() {
        least += product;
        examples.column(index).add_to(&mut vertex, &BigInt::one());
    }
    vertex.truncate(direction.len());
    Ok((least, vertex))
}

/// Affinely independent vertices with whole weights, above 0 but for one that enters.
struct Kept {
    vertices: Vec<Vec<BigInt>>,
    weights: Vec<BigInt>,
    /// Products of words so far, roughly.
    work: u64,
}

impl Kept {
    /// The weighted sum of the vertices, and the sum of the weights.
    fn point(&self) -> (Vec<BigInt>, BigInt) {
        let mut point = vec![BigInt::zero(); self.vertices[0].len()];
        for (vertex, weight) in self.vertices.iter().zip(&self.weights) {
            for (sum, value) in point.iter_mut().zip(vertex) {
                *sum += value * weight;
            }
        }
        (point, self.weights.iter().sum())
    }

    /// Lets a vertex in, and moves to the nearest point of a flat in whose simplex it lies.
    fn enter(&mut self, vertex: Vec<BigInt>, run: &Run) -> Result<(), Interrupt> {
        self.vertices.push(vertex);
        self.weights.push(BigInt::zero());
        loop {
            let wanted = nearest_of_flat(&self.vertices, run)?;
            let words = wanted.iter().map(BigInt::bits).max().unwrap_or(0) / 64 + 1;
            let cubed = (self.vertices.len() as u64).pow(3);
            self.work = self
                .work
                .saturating_add(cubed.saturating_mul(words * words));
            if wanted.iter().all(Signed::is_positive) {
                self.weights = wanted;
                return Ok(());
            }
            self.move_towards(&wanted);
        }
    }

    /// Moves towards the weights wanted as far as none falls below 0, and lets those at 0 go.
    fn move_towards(&mut self, wanted: &[BigInt]) {
        let (own_total, wanted_total): (BigInt, BigInt) =
            (self.weights.iter().sum(), wanted.iter().sum());
        // The share of the way is own / (own - wanted) of the vertex that reaches 0 first.
        let mut share: Option<(BigInt, BigInt)> = None;
        for (own, wanted) in self.weights.iter().zip(wanted) {
            if !wanted.is_positive() {
                let part = own * &wanted_total;
                let whole = &part - wanted * &own_total;
                let is_sooner = share
                    .as_ref()
                    .is_none_or(|(least, of)| &part * of < least * &whole);
                if is_sooner && whole.is_positive() {
                    share = Some((part, whole));
                }
            }
        }
        let (part, whole) = share.expect("a vertex with a weight that is to fall to 0");
        let rest = (&whole - &part) * &wanted_total;
        let gained = part * own_total;
        for (own, wanted) in self.weights.iter_mut().zip(wanted) {
            *own = &*own * &rest + wanted * &gained;
        }
        let mut stays = self.weights.iter().map(Signed::is_positive);
        self.vertices
            .retain(|_| stays.next().expect("a weight of each vertex"));
        self.weights.retain(Signed::is_positive);
        reduce(&mut self.weights);
    }
}

/// The weights, of any sign and with a sum above 0, of the point nearest to 0 on the flat through
/// affinely independent vertices.
fn nearest_of_flat(vertices: &[Vec<BigInt>], run: &Run) -> Result<Vec<BigInt>, Interrupt> {
    let first = &vertices[0];
    let difference = |vertex: &Vec<BigInt>| -> Vec<BigInt> {
        vertex.iter().zip(first).map(|(v, f)| v - f).collect()
    };
    let edges: Vec<Vec<BigInt>> = vertices[1..].iter().map(difference).collect();
    // The point is at right angles to every edge: Gram's matrix, beside its right side.
    let mut rows = Vec::with_capacity(edges.len());
    for edge in &edges {
        look(run)?;
        let products = edges.iter().map(|other| dot(edge, other));
        let row: Vec<BigInt> = products.chain([-dot(edge, first)]).collect();
        rows.push(row);
    }
    // Pivots without fractions (E. H. Bareiss, 1968). They are leading minors of a positive
    // definite matrix, and so above 0.
    let mut determinant = BigInt::one();
    for pivot in 0..rows.len() {
        let base = rows[pivot].clone();
        for (index, row) in rows.iter_mut().enumerate() {
            look(run)?;
            if index != pivot {
                let factor = row[pivot].clone();
                for (entry, of_base) in row.iter_mut().zip(&base) {
                    *entry = (&*entry * &base[pivot] - &factor * of_base) / &determinant;
                }
            }
        }
        determinant = base[pivot].clone();
    }
    let of_edges: Vec<BigInt> = rows.into_iter().filter_map(|mut row| row.pop()).collect();
    let of_first = determinant - of_edges.iter().sum::<BigInt>();
    let mut weights: Vec<BigInt> = [of_first].into_iter().chain(of_edges).collect();
    reduce(&mut weights);
    Ok(weights)
}

fn dot(one: &[BigInt], other: &[BigInt]) -> BigInt {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}
