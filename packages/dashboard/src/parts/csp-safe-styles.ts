// Lets the terminal's styles through a content security policy that forbids inline styles, without loosening the policy.
//
// xterm writes its colours and sizes into <style> elements and into `style` attributes of its spans, which `style-src 'self'` blocks.
// This file replaces both by means that only the page's own script can use, and that the policy therefore allows: a constructed style sheet for the element,
// and the CSSOM for the attribute.

/** Turns the style elements that are created while `work` runs into constructed sheets. The terminal creates all of its style elements when it is opened. */
export function withCspSafeStyles(work: () => void): void {
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

/** A stand-in for a style element: its text becomes a constructed style sheet, which is removed together with the element. */
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

/**
 * Lets `setAttribute('style', …)` of every span set the style through the CSSOM. That loosens nothing: a script that can set an attribute can set the style
 * too.
 */
export function allowSpanStyles(): void {
  HTMLSpanElement.prototype.setAttribute = function (name: string, value: string): void {
    if (name === 'style') this.style.cssText = value
    else Element.prototype.setAttribute.call(this, name, value)
  }
}
