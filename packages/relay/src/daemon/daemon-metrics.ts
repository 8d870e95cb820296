// The metrics of all open workspaces: returned to callers with the key for metrics, and sent to a collector if a setting asks for that.

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

  /** Creates the key for the metrics of all workspaces. A failure is reported: nobody can read these metrics then, and all else works. */
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

  /** Collects the metrics of open workspaces. Workspaces that are closed for lack of use are not opened, and one that cannot be read is left out. */
  collect(): Promise<MetricFamily[]> {
    const open = this.#workspaces.dispatches().map(({ workspace }) => workspace)
    return collectMetrics(open, this.#info, { leavesOutFaults: true })
  }

  /** Starts to send the metrics to a collector if RELAY_METRICS_EXPORT asks for it. Returns a function that ends this. */
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
