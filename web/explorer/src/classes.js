// Names and colours of classes.

const PALETTE = [
  "#4c83c3", "#e8684f", "#3b9b5a", "#d9b036", "#8f63c9", "#35b5c6", "#d765a6", "#8d9a2e",
  "#b5703a", "#7c8aa0", "#9fd089", "#a33b57", "#f2a65e", "#3f6b8f", "#c9a6e4", "#5e7d3a",
];

/** Return the name of a class, as Python gives it: A0, B0, ..., Z0, AA0. */
export function className(number, round) {
  let letters = "";
  for (let rest = number + 1; rest > 0; ) {
    const letter = (rest - 1) % 26;
    letters = String.fromCharCode(65 + letter) + letters;
    rest = (rest - 1 - letter) / 26;
  }
  return `${letters}${round}`;
}

/** Return the colour of a hue: a palette, then hues by the golden angle. */
export function colourOf(hue) {
  if (hue < PALETTE.length) return PALETTE[hue];
  const turn = (hue * 137.508) % 360;
  return `hsl(${turn.toFixed(1)} 52% ${[48, 60, 40][hue % 3]}%)`;
}

/** Return the share of a fraction "a/b" as a number, however long it is. */
export function share(text) {
  const [a, b = "1"] = text.split("/");
  if (a.length < 300 && b.length < 300) return Number(a) / Number(b);
  return Number((BigInt(a) * 10n ** 15n) / BigInt(b)) / 1e15;
}
