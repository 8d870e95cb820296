// What of the daemon's environment a worker's program may see: the names on this list and nothing else. No workspace key, nothing that
// makes a program load other code (NODE_OPTIONS, LD_PRELOAD), no credentials but those of models.

/** The marker by which everything that a worker has started is found again. */
export const workerMarker = 'RELAY_WORKER'

const allowed = [
  // terminal, locale, paths
  ...['COLORTERM', 'NO_COLOR', 'FORCE_COLOR', 'LANG', 'LANGUAGE', 'TZ', 'PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL'],
  ...['TMPDIR', 'EDITOR', 'VISUAL', 'PAGER'],
  // proxies and certificates
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'all_proxy', 'no_proxy'],
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE', 'GIT_SSL_CAINFO'],
  // Claude Code
  ...['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_BASE_URL', 'ANTHROPIC_MODEL', 'CLAUDE_CONFIG_DIR'],
  ...['CLAUDE_CODE_OAUTH_TOKEN', 'CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX', 'AWS_BEARER_TOKEN_BEDROCK'],
  ...['CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC', 'CLAUDE_CODE_SANDBOXED', 'DISABLE_TELEMETRY', 'IS_SANDBOX'],
  ...['DISABLE_ERROR_REPORTING', 'DISABLE_AUTOUPDATER'],
  // Codex
  ...['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'OPENAI_ORGANIZATION', 'OPENAI_PROJECT', 'CODEX_API_KEY', 'CODEX_HOME'],
  // Gemini CLI
  ...['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GEMINI_BASE_URL', 'GEMINI_CLI_HOME', 'GEMINI_MODEL'],
  ...['GOOGLE_CLOUD_PROJECT', 'GOOGLE_CLOUD_LOCATION', 'GOOGLE_GENAI_USE_VERTEXAI', 'GEMINI_CLI_TRUST_WORKSPACE'],
  // opencode, droid, and the models that several take
  ...['OPENCODE_CONFIG', 'OPENCODE_CONFIG_DIR', 'OPENCODE_CONFIG_CONTENT', 'OPENCODE_DISABLE_AUTOUPDATE'],
  ...['OPENCODE_DISABLE_MODELS_FETCH', 'OPENCODE_DISABLE_LSP_DOWNLOAD', 'FACTORY_API_KEY', 'OPENROUTER_API_KEY'],
  ...['MISTRAL_API_KEY', 'GROQ_API_KEY', 'DEEPSEEK_API_KEY', 'XAI_API_KEY', 'OLLAMA_HOST'],
  // goose
  ...['GOOSE_PROVIDER', 'GOOSE_MODEL'],
]

const allowedNames = new Set(allowed)
const isAllowed = (name: string) => allowedNames.has(name) || name.startsWith('LC_') || name.startsWith('XDG_')

type Env = Readonly<Record<string, string | undefined>>

export function allowedEnvironment(env: Env): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) if (value !== undefined && isAllowed(name)) kept[name] = value
  return kept
}

/** What its program gets: the allowed part, what its terminal is, and what was made for it. */
export function workerEnvironment(env: Env, ...added: Env[]): Record<string, string> {
  const terminal = { TERM: 'xterm-256color', COLORTERM: 'truecolor' }
  const all = Object.assign({}, allowedEnvironment(env), terminal, ...added) as Env
  return Object.fromEntries(Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined))
}
