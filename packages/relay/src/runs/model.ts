// The model settings of the built-in agent loop: from the daemon's environment, otherwise from the project's configuration once that is trusted.

import { type Env, setting } from '@agent-relay/sdk/internal/discover'
import type { LanguageModel } from 'ai'
import type { ProjectConfigFile } from '../machine/trust.ts'

export interface ModelSettings {
  provider: 'anthropic' | 'openai-compatible'
  baseUrl?: string
  apiKey?: string
  model: string
}

const providers: Record<string, ModelSettings['provider']> = {
  anthropic: 'anthropic',
  claude: 'anthropic',
  openai: 'openai-compatible',
  'openai-compatible': 'openai-compatible',
  ollama: 'openai-compatible',
}

const openaiUrl = 'https://api.openai.com/v1'
const fix =
  'Set RELAY_LLM_PROVIDER, RELAY_MODEL and RELAY_LLM_API_KEY (or RELAY_LLM_BASE_URL) for the daemon and restart it, ' +
  'or "llm" in .relay/config.json, and start this again. Or let a CLI do it: harness claude.'

/** Whether the settings name a model provider, even if they are incomplete; `modelSettings` then says what is missing. */
export function isModelConfigured(env: Env, config: ProjectConfigFile | undefined): boolean {
  const named = setting(env, 'RELAY_LLM_PROVIDER') ?? setting(env, 'RELAY_LLM_BASE_URL')
  return named !== undefined || config?.settings.llm !== undefined
}

/** Returns the model settings, or a sentence that says what is missing. */
export function modelSettings(
  env: Env,
  wanted: string | undefined,
  config: ProjectConfigFile | undefined,
): ModelSettings | string {
  const isKnown = config?.settings.llm !== undefined
  const file = config?.isTrusted ? config.settings.llm : undefined
  const name = (setting(env, 'RELAY_LLM_PROVIDER') ?? file?.provider)?.toLowerCase()
  const baseUrl = setting(env, 'RELAY_LLM_BASE_URL') ?? file?.baseUrl
  const apiKey = setting(env, 'RELAY_LLM_API_KEY') ?? file?.apiKey
  const model = wanted ?? setting(env, 'RELAY_MODEL') ?? file?.model
  if (name === undefined && baseUrl === undefined) {
    const untrusted = isKnown && !file ? ` ${config?.path} names one, but is not trusted: agent-relay trust` : ''
    return `No model is configured. ${fix}${untrusted}`
  }
  const provider = name === undefined ? 'openai-compatible' : providers[name]
  if (provider === undefined) return `There is no provider "${name}". There are ${Object.keys(providers).join(', ')}.`
  if (model === undefined) return `No model is named. ${fix}`
  if (apiKey === undefined && baseUrl === undefined) return `${name} needs a key. ${fix}`
  return { provider, baseUrl: baseUrl && withVersion(baseUrl), apiKey, model }
}

/** Adds /v1, under which every provider serves its API, if the user has given only the server's address. */
function withVersion(url: string): string {
  const plain = url.replace(/\/+$/, '')
  return /^https?:\/\/[^/]+$/.test(plain) ? `${plain}/v1` : plain
}

/** Opens a model. The library for it is loaded with the first run, so that an idle daemon stays small. Every request to the model goes through `fetch`. */
export async function openModel(
  { provider, baseUrl: baseURL, apiKey, model }: ModelSettings,
  fetch: typeof globalThis.fetch,
): Promise<LanguageModel> {
  if (provider === 'anthropic') {
    const { createAnthropic } = await import('./libraries.ts')
    return createAnthropic({ baseURL, apiKey: apiKey ?? 'none', fetch })(model)
  }
  const { createOpenAICompatible } = await import('./libraries.ts')
  const made = createOpenAICompatible({
    name: 'openai-compatible',
    baseURL: baseURL ?? openaiUrl,
    apiKey,
    fetch,
    includeUsage: true,
  })
  return made(model)
}
