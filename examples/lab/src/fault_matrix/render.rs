//! The matrix for a terminal.

use std::fmt;

use super::{
    cell::Struck,
    scene::Scene,
    table::{Change, Comparison, Difference, Measured, Table},
    why::{not_stopped, why},
};

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Reports left in a fresh SQLite file by real HTTP requests; 1 is right.\n")?;
        write!(f, "{:<26}", "server / key")?;
        for scene in Scene::ALL {
            write!(f, "  {scene:>13}")?;
        }
        writeln!(f)?;
        for measured in &self.rows {
            write!(f, "{:<26}", measured.row)?;
            for reports in measured.reports() {
                write!(f, "  {reports:>13}")?;
            }
            writeln!(f)?;
        }
        let differences = self.differences();
        if !differences.is_empty() {
            f.write_str("\nNOT as in the article:")?;
            return differences.iter().try_for_each(|difference| write!(f, "\n  {difference}"));
        }
        // Told of what was measured, which is what was expected.
        writeln!(f, "\nWhat each row does not stop:")?;
        for &Measured { row, .. } in &self.rows {
            writeln!(f, "  {row}")?;
            write_reasons(
                f,
                not_stopped(row).into_iter().map(|scene| (scene, "2 reports".to_owned(), why(row, scene))),
            )?;
        }
        writeln!(f, "\nHow the rows differ:")?;
        for Comparison { row, other, changes } in self.comparisons() {
            if changes.is_empty() {
                writeln!(f, "  {row}: as {other}")?;
            } else {
                writeln!(f, "  {row}, compared with {other}")?;
            }
            let reason = |Change { scene, there, here, why }| (scene, format!("{there} -> {here}"), why);
            write_reasons(f, changes.into_iter().map(reason))?;
        }
        f.write_str("\nas in the article")
    }
}

/// One line for all scenes that have the same figure for the same reason.
fn write_reasons(
    f: &mut fmt::Formatter<'_>,
    reasons: impl Iterator<Item = (Scene, String, &'static str)>,
) -> fmt::Result {
    let mut lines: Vec<(String, String, &str)> = Vec::new();
    for (scene, figure, why) in reasons {
        match lines.last_mut() {
            Some((scenes, same_figure, same_why)) if *same_figure == figure && *same_why == why => {
                scenes.push_str(&format!(", {scene}"));
            }
            _ => lines.push((scene.to_string(), figure, why)),
        }
    }
    lines.iter().try_for_each(|(scenes, figure, why)| writeln!(f, "    {scenes}: {figure}, {why}"))
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { row, scene, reports, expected, struck } = self;
        write!(f, "{row}, {scene}: {reports}, expected {expected}")?;
        match struck {
            Struck::Yes => Ok(()),
            Struck::No => f.write_str(" (the fault did not strike)"),
        }
    }
}
