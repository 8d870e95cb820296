// Hostile Markdown: named texts that try to be more than text, or to take long.

const fill = (text: string, bytes: number): string => text.repeat(Math.ceil(bytes / text.length)).slice(0, bytes)
const most = 250 * 1024

export const hostileMarkdown: Readonly<Record<string, string>> = {
  'a script': '# Hello\n\n<script>window.caught=1</script>\n\n**after**',
  'links that run': [
    '[a](javascript:window.caught=1)',
    '[b](JaVaScRiPt:window.caught=1)',
    '[c](data:text/html,<script>parent.caught=1</script>)',
    '<javascript:window.caught=1>',
    '[d](vbscript:window.caught=1)',
    '[e](&#106;avascript:window.caught=1)',
    '[f]: javascript:window.caught=1\n\n[f]',
  ].join('\n\n'),
  'a picture from elsewhere': '![seen](https://example.invalid/seen.png) ![too](//example.invalid/too.png "title")',
  'a link that lies':
    '[https://good.example](https://evil.example/x) and [good.example](https://good.example@evil.example)',
  'turned text': '\u202e**drowssap**\u202c [\u2066gpj.exe\u2069](https://example.invalid/\u202egpj.exe)',
  'a table of 250 KiB': `| a | b |\n|---|---|\n${fill('| x | y |\n', most)}`,
  'a wide table': `|${'a|'.repeat(8_000)}\n|${'-|'.repeat(8_000)}\n${fill('|x', 40_000)}`,
  'quotes 10,000 deep': `${'> '.repeat(10_000)}deep`,
  'lists 10,000 deep': `${'- '.repeat(10_000)}deep`,
  'stars 10,000 deep': `${'*'.repeat(10_000)}deep${'*'.repeat(10_000)}`,
  'opening brackets': fill('[', most),
  'opening pictures': fill('![', most),
  'half links': fill('[](', most),
  addresses: fill('https://', most),
  'code that never ends': `\`\`\`js\n${fill('/*"${`', most)}`,
  'one endless word in code': `\`\`\`\n${fill('W', 20_000)}`,
  references: fill('[a]: b\n', most),
  'HTML everywhere': fill('<b onclick="window.caught=1">', most),
}
