//! The style sheet of the HTML report: light, dark, paper and phone.

pub(super) const STYLE: &str = "
:root { --bg: #fff; --fg: #1c2128; --soft: #5b6570; --rule: #d5dae0; --field: #f4f6f8;
  --yes: #1a7f37; --no: #b3261e; --open: #7a5d00; --notice: #fff4d6;
  --c0: #0067b1; --c1: #c4480a; --c2: #00805f; --c3: #a6497f; --c4: #9a6700; --c5: #5a6672;
  --h0: #7f3200; --h1: #b4500f; --h2: #f0a466; --h3: #fadcc0; --h4: #e2e6ea;
  --h5: #cbe0f2; --h6: #8cbfe5; --h7: #1f6fae; --h8: #083f78;
  --near: #1c2128; --far: #fff; }
@media (prefers-color-scheme: dark) { :root { --bg: #14181d; --fg: #e4e8ec; --soft: #9aa5b1;
  --rule: #343c46; --field: #1d232a; --yes: #5ac878; --no: #ff8a80; --open: #e5c04b;
  --notice: #3a3216;
  --c0: #5db2f2; --c1: #ff9a5c; --c2: #4fd0a5; --c3: #e79ac7; --c4: #e5c04b; --c5: #a9b4c0;
  --h0: #ffd3ab; --h1: #e8964f; --h2: #8f5a2a; --h3: #5a4332; --h4: #3a424c;
  --h5: #2f4d66; --h6: #33709f; --h7: #6db3e6; --h8: #c3e2fa;
  --near: #fff; --far: #14181d; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--fg);
  font: 16px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 20px 16px 60px; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 8px; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 40px 0 8px; padding-top: 12px; border-top: 1px solid var(--rule); }
h3 { font-size: 1.05rem; margin: 24px 0 8px; }
p { margin: 8px 0; max-width: 80ch; }
.notice { background: var(--notice); padding: 6px 10px; border-radius: 6px; font-weight: 600;
  display: inline-block; }
.wide { overflow-x: auto; margin: 10px 0; }
table { border-collapse: collapse; font-size: 0.92rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 4px 12px 4px 0; border-bottom: 1px solid var(--rule);
  vertical-align: top; }
th { color: var(--soft); font-weight: 600; vertical-align: bottom; }
th.n { white-space: normal; }
table.plain td:first-child { min-width: 9.5rem; }
.n { text-align: right; } td.n { white-space: nowrap; }
.badge { font-weight: 600; white-space: nowrap; }
.yes { color: var(--yes); } .no { color: var(--no); } .open { color: var(--open); }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 500px), 1fr));
  gap: 20px; margin: 14px 0; }
figure { margin: 0; background: var(--field); border-radius: 8px; padding: 12px; min-width: 0;
  break-inside: avoid; }
figcaption { font-weight: 600; margin-bottom: 4px; }
svg { width: 100%; height: auto; display: block; }
.note { color: var(--soft); font-size: 0.88rem; margin: 6px 0 0; }
.legend { list-style: none; margin: 6px 0 0; padding: 0; display: flex; flex-wrap: wrap;
  gap: 2px 16px; font-size: 0.88rem; }
.legend li { display: flex; align-items: center; gap: 6px; }
svg.key { width: 24px; height: 14px; flex: none; }
pre { background: var(--field); padding: 10px; border-radius: 6px; overflow-x: auto;
  font-size: 0.82rem; }
details { margin: 12px 0; } summary { cursor: pointer; font-weight: 600; }
.tick, .small { font-size: 12px; fill: var(--soft); } .label { font-size: 13px; fill: var(--fg); }
.rule { stroke: var(--rule); stroke-width: 1; fill: none; }
.axis { stroke: var(--soft); stroke-width: 1; fill: none; }
.shade { fill: var(--rule); opacity: 0.5; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; } .dashed { stroke-dasharray: 5 4; }
.bar { fill: none; stroke-width: 1.4; } .mark { stroke: var(--field); stroke-width: 1; }
path.s0 { stroke: var(--c0); }
path.s1 { stroke: var(--c1); }
path.s2 { stroke: var(--c2); }
path.s3 { stroke: var(--c3); }
path.s4 { stroke: var(--c4); }
path.s5 { stroke: var(--c5); }
.mark.s0, .fill.s0 { fill: var(--c0); } .mark.s1, .fill.s1 { fill: var(--c1); }
.mark.s2, .fill.s2 { fill: var(--c2); } .mark.s3, .fill.s3 { fill: var(--c3); }
.mark.s4, .fill.s4 { fill: var(--c4); } .mark.s5, .fill.s5 { fill: var(--c5); }
.h0 { fill: var(--h0); } .h1 { fill: var(--h1); } .h2 { fill: var(--h2); }
.h3 { fill: var(--h3); } .h4 { fill: var(--h4); } .h5 { fill: var(--h5); }
.h6 { fill: var(--h6); } .h7 { fill: var(--h7); } .h8 { fill: var(--h8); }
.near { fill: var(--near); } .far { fill: var(--far); }
rect.gap { fill: none; stroke: var(--rule); } path.gap { stroke: var(--soft); stroke-width: 1; }
.ring { fill: none; stroke-width: 2; } .ends { stroke: var(--fg); stroke-width: 1.4; }
.level { stroke: var(--soft); stroke-width: 1.4; fill: none; }
@media (max-width: 640px) { .tick, .small { font-size: 15px; } .label { font-size: 16px; }
  table.cards, .cards tbody, .cards tr, .cards td { display: block; }
  .cards thead { display: none; } .cards td { border: 0; padding: 1px 0; }
  .cards tr { border-bottom: 1px solid var(--rule); padding: 8px 0; }
  .cards td:nth-child(n+3)::before { content: attr(data-is) ': '; color: var(--soft); } }
@media print { :root { --bg: #fff; --fg: #000; --soft: #444; --rule: #bbb; --field: #fff;
  --yes: #1a7f37; --no: #b3261e; --open: #7a5d00; --notice: #eee; --c0: #0067b1; --c1: #c4480a;
  --c2: #00805f; --c3: #a6497f; --c4: #9a6700; --c5: #5a6672;
  --h0: #7f3200; --h1: #b4500f; --h2: #f0a466; --h3: #fadcc0; --h4: #e2e6ea;
  --h5: #cbe0f2; --h6: #8cbfe5; --h7: #1f6fae; --h8: #083f78;
  --near: #1c2128; --far: #fff; }
  main { max-width: none; padding: 0; } figure { border: 1px solid #bbb; }
  details:not([open]) { display: none; } }
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::heat::{CLASSES, is_far};

    /// Of a colour as WCAG 2.1 defines it: 0 for black, 1 for white.
    fn luminance(colour: &str) -> f64 {
        let digits: String = match colour.len() {
            4 => colour.chars().skip(1).flat_map(|c| [c, c]).collect(),
            _ => colour.chars().skip(1).collect(),
        };
        let linear = |at: usize| {
            let part = f64::from(u8::from_str_radix(&digits[at..at + 2], 16).unwrap()) / 255.0;
            if part <= 0.03928 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(0) + 0.7152 * linear(2) + 0.0722 * linear(4)
    }

    /// Light, dark and paper, in the order of the style sheet.
    fn values_of(name: &str) -> Vec<&'static str> {
        let after = STYLE.match_indices(name).map(|(at, found)| &STYLE[at + found.len()..]);
        after.map(|text| text.split(';').next().unwrap().trim()).collect()
    }

    /// 4.5 is what WCAG wants of text of this size.
    #[test]
    fn the_number_in_a_field_can_be_read_on_its_colour() {
        for class in 0..CLASSES {
            let fields = values_of(&format!("--h{class}:"));
            let texts = values_of(if is_far(class) { "--far:" } else { "--near:" });
            assert_eq!((fields.len(), texts.len()), (3, 3), "{class}: light, dark and paper");
            for (field, text) in fields.into_iter().zip(texts) {
                let (a, b) = (luminance(field), luminance(text));
                let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
                assert!(contrast >= 4.5, "{text} on {field}: {contrast:.2}");
            }
        }
        assert!((luminance("#fff") - 1.0).abs() < 1e-9 && luminance("#000000") == 0.0);
    }
}
