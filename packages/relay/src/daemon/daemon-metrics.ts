// The metrics of all open workspaces: answered to the holder of their key, and sent to a collector where a setting asks for that.

import { type Env, setting } from '@agent-relay/sdk/internal/discover'
import type { DaemonInfo } from '../broker/call.ts'
import { MetricsKey } from '../machine/metrics-key.ts'
import { collectMetrics, type MetricFamily, type OwnerMetrics } from '../wires/metrics.ts'
import type { OpenWorkspaces } from './open-workspaces.ts'

export class DaemonMetrics implements OwnerMetrics {
  readonly #workspaces: Pick<OpenWorkspaces, 'dispatches'>
  readonly #info: DaemonInfo
  readonly #key: MetricsKey

  constructor(dataDir: string, workspaces: Pick<OpenWorkspaces, 'dispatches'>, info: DaemonInfo) {
    this.#workspaces = workspaces
    this.#info = info
    this.#key = new MetricsKey(dataDir)
  }

  /** Without the key the metrics of all workspaces are closed, and everything else works. */
  makeKey(onTrouble: (error: Error) => void): void {
    try {
      this.#key.make()
    } catch (error) {
      onTrouble(new Error(`There is no key to the metrics of all workspaces: ${(error as Error).message}`))
    }
  }

  isKey(credential: string): boolean {
    return this.#key.isKey(credential)
  }

  /** Collects from the workspaces that are open: none at rest is opened, and one that cannot be read is left out. */
  collect(): Promise<MetricFamily[]> {
    const open = this.#workspaces.dispatches().map(({ workspace }) => workspace)
    return collectMetrics(open, this.#info, { leavesOutFaults: true })
  }

  /** Sends the metrics to a collector from now on, if RELAY_METRICS_EXPORT says so. Returns the function that ends it. */
  async startExport(env: Env, onTrouble: (error: Error) => void): Promise<() => void> {
    const wish = setting(env, 'RELAY_METRICS_EXPORT')
    if (wish === undefined || wish === '') return () => {}
    if (wish !== 'otlp') {
      onTrouble(
        new Error(`RELAY_METRICS_EXPORT is "${wish}", and metrics are sent as otlp only. Set it to otlp, or unset it.`),
      )
      return () => {}
    }
    const { MetricsExport, otlpTargetOf } = await import('../wires/otlp.ts')
    const { version } = this.#info
    const target = otlpTargetOf(env)
    const metrics = new MetricsExport({ target, version, collect: () => this.collect(), onTrouble })
    return () => metrics.close()
  }
}
