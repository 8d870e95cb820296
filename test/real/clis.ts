// The real CLIs: their versions, and the settings of a fresh home with which each starts without a question and takes our model for its own.

import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export interface Cli {
  name: string
  npmPackage: string
  /** The program in the package for this platform, where an install script would have to fetch it from there. */
  native?: string
  /** The Node that it needs, where ours is too old. */
  nodeMajor?: number
  /** Writes its configuration into a private home; answers the variables it needs. */
  prepare(place: { home: string; work: string; modelUrl: string }): Record<string, string>
}

const platform = `${process.platform}-${process.arch}`
const key = 'sk-dummy-0123456789abcdefghij'

function write(path: string, content: object | string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
}

const claude: Cli = {
  name: 'claude',
  npmPackage: '@anthropic-ai/claude-code@2.1.327',
  native: `@anthropic-ai/claude-code-${platform}/claude`,
  prepare({ home, work, modelUrl }) {
    write(join(home, '.claude.json'), {
      hasCompletedOnboarding: true,
      theme: 'dark',
      customApiKeyResponses: { approved: [key.slice(-20)], rejected: [] },
      projects: { [work]: { hasTrustDialogAccepted: true } },
    })
    return {
      ANTHROPIC_API_KEY: key,
      ANTHROPIC_BASE_URL: modelUrl,
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
      DISABLE_AUTOUPDATER: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    }
  },
}

const codex: Cli = {
  name: 'codex',
  npmPackage: '@openai/codex@0.166.0',
  prepare({ home, modelUrl }) {
    const provider = `name = "fake"\nbase_url = "${modelUrl}/v1"\nenv_key = "OPENAI_API_KEY"\nwire_api = "responses"\n`
    const text = `model = "fake-model"\nmodel_provider = "fake"\n[model_providers.fake]\n${provider}`
    write(join(home, '.codex/config.toml'), text)
    return { OPENAI_API_KEY: key }
  },
}

const opencode: Cli = {
  name: 'opencode',
  // Later ones have no binary for arm64 in the registry.
  npmPackage: 'opencode-ai@1.18.18',
  native: `opencode-${platform}/bin/opencode`,
  prepare({ home, modelUrl }) {
    const provider = {
      npm: '@ai-sdk/openai-compatible',
      name: 'fake',
      options: { baseURL: `${modelUrl}/v1`, apiKey: key },
      models: { 'fake-model': { name: 'fake-model', tool_call: true } },
    }
    write(join(home, '.config/opencode/opencode.json'), { model: 'fake/fake-model', provider: { fake: provider } })
    return {
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    }
  },
}

const gemini: Cli = {
  name: 'gemini',
  npmPackage: '@google/gemini-cli@0.61.0',
  prepare({ home, modelUrl }) {
    write(join(home, '.gemini/settings.json'), {
      security: { auth: { selectedType: 'gemini-api-key' } },
      general: { enableAutoUpdate: false },
      privacy: { usageStatisticsEnabled: false },
    })
    return { GEMINI_API_KEY: key, GOOGLE_GEMINI_BASE_URL: modelUrl }
  },
}

const qwen: Cli = {
  name: 'qwen',
  npmPackage: '@qwen-code/qwen-code@0.24.4',
  nodeMajor: 22,
  prepare: ({ modelUrl }) => ({ OPENAI_API_KEY: key, OPENAI_BASE_URL: `${modelUrl}/v1`, OPENAI_MODEL: 'fake-model' }),
}

const copilot: Cli = {
  name: 'copilot',
  npmPackage: '@github/copilot@1.0.102',
  prepare: ({ modelUrl }) => ({
    COPILOT_OFFLINE: 'true',
    COPILOT_PROVIDER_BASE_URL: `${modelUrl}/v1`,
    COPILOT_PROVIDER_API_KEY: key,
    COPILOT_MODEL: 'fake-model',
  }),
}

/** As workers. */
export const clis: readonly Cli[] = [claude, codex, opencode, gemini, copilot].map(wanted)
/** As hosts of our tools. */
export const hosts: readonly Cli[] = [claude, codex, gemini, opencode, qwen, copilot].map(wanted)

/** As it is pinned here; with RELAY_TEST_NEWEST set, as npm's registry has it today. */
function wanted(cli: Cli): Cli {
  if (!process.env.RELAY_TEST_NEWEST) return cli
  const name = cli.npmPackage.replace(/@[^@/]+$/, '')
  const version = String(execFileSync('npm', ['view', name, 'version', '--loglevel=error'])).trim()
  return { ...cli, npmPackage: `${name}@${version}` }
}

/** The person has answered the CLI's question whether they trust the folder. */
export function trusting(cli: Cli): Cli {
  return {
    ...cli,
    prepare(place) {
      const env = cli.prepare(place)
      if (cli.name === 'codex')
        appendFileSync(join(place.home, '.codex/config.toml'), `[projects."${place.work}"]\ntrust_level = "trusted"\n`)
      if (cli.name === 'copilot') {
        write(join(place.home, '.copilot/config.json'), { trusted_folders: [place.work] })
      }
      return env
    },
  }
}
