// A hundred hostile strings that try to be more than text. Each carries a mark of its own, by which it is found again.

const shapes: ((mark: string) => string)[] = [
  (m) => `<script>window.caught='${m}'</script>${m}`,
  (m) => `<img src=x onerror="window.caught='${m}'">${m}`,
  (m) => `<svg onload="window.caught='${m}'"><title>${m}</title></svg>`,
  (m) => `<svg><script href="data:,window.caught='${m}'"/></svg>${m}`,
  (m) => `[${m}](javascript:window.caught='${m}')`,
  (m) => `![${m}](https://example.invalid/${m}.png)`,
  (m) => `<a href="javascript:window.caught='${m}'">${m}</a>`,
  (m) => `<iframe srcdoc="<script>parent.caught='${m}'</script>"></iframe>${m}`,
  (m) => `<style>*{display:none!important}</style>${m}`,
  (m) => `<link rel=stylesheet href="https://example.invalid/${m}.css">${m}`,
  (m) => `<meta http-equiv=refresh content="0;url=https://example.invalid/${m}">${m}`,
  (m) => `<base href="https://example.invalid/">${m}`,
  (m) => `<form action="https://example.invalid"><button autofocus>${m}</button></form>`,
  (m) => `"><input autofocus onfocus="window.caught='${m}'">${m}`,
  (m) => `'-window.caught='${m}'-'${m}`,
  (m) => `\${window.caught='${m}'}{{constructor.constructor("window.caught='${m}'")()}}${m}`,
  (m) => `\u202e${m}\u202c \u2066turned\u2069 \u200f${m}`,
  (m) => `\u001b[31mred ${m}\u001b[0m \u001b[2J\u001b[H`,
  (m) => `\u001b]8;;https://example.invalid/${m}\u0007${m}\u001b]8;;\u0007`,
  (m) => `\u001b]52;c;${Buffer.from(m).toString('base64')}\u0007${m}`,
  (m) => `\u001b]0;title ${m}\u0007\u009b31m${m}\u0007\b\r`,
  (m) => `${'W'.repeat(4_000)}${m}`,
  (m) => `${'a\u0301\u0302\u0303\u0304\u0305\u0306'.repeat(200)}${m}`,
  (m) => `${'\n'.repeat(200)}${m}`,
  (m) => `🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}👩‍👩‍👧‍👦${m}\ufeff\u200b`,
]

export const hostile: readonly { mark: string; text: string }[] = Array.from({ length: 100 }, (_, i) => {
  const mark = `mark${String(i).padStart(3, '0')}`
  const shape = shapes[i % shapes.length] as (mark: string) => string
  // The same shapes again: within other words, and within each other.
  const around = ['', 'before ', '`', '<!--'][Math.floor(i / shapes.length)] ?? ''
  return { mark, text: around + shape(mark) }
})
