// Finds lines of a file that would fetch another project's code, or tell a person or a program to: `agent-relay` and `@agent-relay/*` on the public
// registry are not ours. test/docs/names.test.ts runs this over every tracked file.

/** Either name, as npm takes it. A path or a longer name does not count. */
const ours = String.raw`(?:@agent-relay\/[\w.-]+|(?<![\w@.\/-])agent-relay(?:-mcp)?)(?![\w\/-]|\.\w)`
const options = String.raw`(?:-{1,2}[\w-]+(?:[= ][^\s"'\x60-][^\s"'\x60]*)?\s+)*?`

const forms: readonly { what: string; pattern: RegExp }[] = [
  {
    what: 'npx without --no fetches a package of that name',
    pattern: new RegExp(String.raw`\b(?:npx|bunx|pnpx)\s+(?!--no )${options}${ours}`),
  },
  {
    what: 'this installs or reads a package of that name from a registry',
    pattern: new RegExp(
      String.raw`\b(?:npm|pnpm|yarn|bun|deno)\s+(?:i|in|install|add|global add|exec|x|dlx|create|init|update|up|view|info|show|outdated|ci)\s+(?:[^\s&|;,:#]+\s+)*?["']?${ours}`,
    ),
  },
  {
    what: 'npm takes a path without ./ for the name of a repository on GitHub',
    pattern: /\bnpm\s+(?:i|install|add)\s+(?:-\S+\s+)*[\w-]+\/[\w.-]*agent-relay[\w.-]*\.tgz/,
  },
  {
    what: 'a program that is started through npx',
    pattern: new RegExp(String.raw`["']npx["'](?!,?\s*\[?["']--no["'])[^\n]{0,80}${ours}`),
  },
  {
    what: 'a page or a file of a public registry',
    pattern:
      /npm:@?agent-relay\b|(?:npmjs\.(?:com|org)|unpkg\.com|jsdelivr\.net|esm\.sh|skypack\.dev)[^\s"')]*[/:](?:@|%40)?agent-relay\b/,
  },
  { what: "an editor's link that installs a server", pattern: /install-mcp\?|redirect\/mcp\/install|mcp\/install\?/ },
  { what: 'an entry of a registry of MCP servers', pattern: /"registry(?:Type|_name)"/ },
  { what: 'a lockfile that takes our packages from a registry', pattern: /"resolved": "https?:[^"]*agent-relay/ },
]

/** The lines of a file that would fetch a stranger's code. Several lines count as one where a list of words runs over them. */
export function registryNames(path: string, text: string): string[] {
  const joined = text.replace(/\[\s*\n\s*/g, '[').replace(/,\n\s*(?=["'])/g, ', ')
  const lines = [...new Set([...text.split('\n'), ...joined.split('\n')])]
  return lines.flatMap((line) =>
    [line, ...hidden(line)].flatMap((shown) =>
      forms
        .filter(({ pattern }) => pattern.test(shown))
        .map(({ what }) => `${path}: ${what}: ${line.trim().slice(0, 160)}`),
    ),
  )
}

/** The content of a link in another writing: percent signs, base64. */
function hidden(line: string): string[] {
  const found = /%[0-9A-F]{2}/i.test(line)
    ? [line.replace(/%([0-9A-F]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))]
    : []
  const encoded = line.match(/[A-Za-z0-9+/_-]{40,}/g) ?? []
  return [...found, ...encoded.map((word) => Buffer.from(word, 'base64').toString('latin1'))]
}
