// Lets the terminal's styles through a policy that forbids inline ones, without loosening the policy.
//
// xterm writes its colours and sizes into <style> elements and into `style` attributes of its spans, which `style-src 'self'` blocks.
// Both are given another way that the policy allows, because only the page's own script can use it: a constructed style sheet in place
// of the element, and the CSSOM in place of the attribute.

/** Style elements that are made while `work` runs become sheets. The terminal makes all of its own when it is opened. */
export function withSheltered(work: () => void): void {
  document.createElement = ((tag: string, options?: ElementCreationOptions) =>
    tag === 'style' ? sheetElement() : create(tag, options)) as typeof document.createElement
  try {
    work()
  } finally {
    Reflect.deleteProperty(document, 'createElement')
  }
}

function create(tag: string, options?: ElementCreationOptions): HTMLElement {
  return Document.prototype.createElement.call(document, tag, options)
}

/** A stand-in for a style element: its text becomes a sheet, which goes when the element goes. */
function sheetElement(): HTMLElement {
  const element = create('span')
  const sheet = new CSSStyleSheet()
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
  let text = ''
  Object.defineProperty(element, 'textContent', {
    get: () => text,
    set: (value: string) => {
      text = value
      sheet.replaceSync(value)
    },
  })
  element.hidden = true
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => each !== sheet)
    Element.prototype.remove.call(element)
  }
  return element
}

/** Changes all spans: the terminal makes its own as it draws, and a script that sets an attribute may as well set the style. */
export function shelterSpans(): void {
  HTMLSpanElement.prototype.setAttribute = function (name: string, value: string): void {
    if (name === 'style') this.style.cssText = value
    else Element.prototype.setAttribute.call(this, name, value)
  }
}
