// Contrast of each text on the page with what is painted below it, the lowest first: [[contrast, text], ...]. As WCAG 2 defines it.
const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
const paint = (colour) => {
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
};
const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
const light = ([red, green, blue]) => 0.2126 * linear(red / 255) + 0.7152 * linear(green / 255) + 0.0722 * linear(blue / 255);
const ground = (element) => {
  element.parentElement ? ground(element.parentElement) : paint("white");
  return paint(getComputedStyle(element).backgroundColor);
};
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const found = [];
while (texts.nextNode()) {
  const text = texts.currentNode.data.trim(), element = texts.currentNode.parentElement;
  if (text === "" || !element.checkVisibility()) continue;
  const below = light(ground(element)), above = light(paint(getComputedStyle(element).color));
  found.push([(Math.max(below, above) + 0.05) / (Math.min(below, above) + 0.05), text]);
}
return found.sort((one, other) => one[0] - other[0]);
