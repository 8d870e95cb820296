// The settings of the built-in agent loop, from the daemon's environment and from the configuration of the project directory that the run works in.

import type { Env } from '@agent-relay/sdk/internal/discover'
import type { LoopSettings } from '../broker/runs/run-runtime.ts'
import { type ProjectConfigFile, projectConfig } from '../machine/trust.ts'
import { isModelConfigured } from './model.ts'

interface LoopSettingsOptions {
  env: Env
  /** The daemon's data directory, which records the trusted project configurations. */
  dataDir: string
  /** The project directory that the workspace is named after. */
  directory(): string | undefined
}

export class ProjectLoopSettings implements LoopSettings {
  readonly #options: LoopSettingsOptions

  constructor(options: LoopSettingsOptions) {
    this.#options = options
  }

  /**
   * Reads the project configuration of the directory that the run works in; without such a directory, of the directory that the workspace is named
   * after.
   */
  configFor(wanted: string | undefined): ProjectConfigFile | undefined {
    const { dataDir, directory } = this.#options
    const cwd = wanted ?? directory()
    return cwd === undefined ? undefined : projectConfig(cwd, dataDir)
  }

  startsServers(cwd: string | undefined): boolean {
    const config = this.configFor(cwd)
    return config?.isTrusted === true && Object.keys(config.settings.mcpServers ?? {}).length > 0
  }

  isModelConfigured(cwd: string | undefined): boolean {
    try {
      return isModelConfigured(this.#options.env, this.configFor(cwd))
    } catch {
      // The project's configuration is invalid. The answer is yes, so that the loop starts and reports the fault as the reason why the run stopped.
      return true
    }
  }
}
