// The metrics of workspaces and of their daemon for `/metrics`, in the text format of OpenMetrics 1.0.

import { ReadTimeBudget } from '../broker/long-reads.ts'
import type { DaemonCallScope } from '../broker/workspace.ts'

export const metricsType = 'application/openmetrics-text; version=1.0.0; charset=utf-8'

type Labels = Record<string, string>
type Sample = [suffix: string, labels: Labels, value: number]

export const metricNamePrefix = 'agent_relay_'

export interface MetricFamily {
  name: string
  type: 'counter' | 'gauge' | 'histogram' | 'info'
  help: string
  unit?: string
  samples: Sample[]
}

/** The metrics of all workspaces, for the owner of the daemon. */
export interface OwnerMetrics {
  /** Whether the credential is the key of these metrics. */
  isKey(credential: string): boolean
  collect(): Promise<MetricFamily[]>
}

/**
 * Collects the metrics of these workspaces and of the daemon. Each sample of a workspace has the workspace's name as a label; a metric family contains the
 * samples of all workspaces.
 */
export async function collectMetrics(
  workspaces: readonly DaemonCallScope['workspace'][],
  daemon: DaemonCallScope['daemon'],
  { leavesOutFaults = false } = {},
): Promise<MetricFamily[]> {
  const families = new Map(daemonMetrics(daemon).map((family) => [family.name, family]))
  for (const workspace of workspaces) {
    const found = workspaceMetrics(workspace, daemon)
    for (const { samples, ...family } of await (leavesOutFaults ? found.catch(() => []) : found)) {
      const named = samples.map(
        ([suffix, labels, value]): Sample => [suffix, { workspace: workspace.name, ...labels }, value],
      )
      const known = families.get(family.name)
      if (known) known.samples.push(...named)
      else families.set(family.name, { ...family, samples: named })
    }
  }
  return [...families.values()]
}

export function metricsText(families: readonly MetricFamily[]): string {
  return `${families.map(textOf).join('')}# EOF\n`
}

async function workspaceMetrics(
  workspace: DaemonCallScope['workspace'],
  { fileBytes }: DaemonCallScope['daemon'],
): Promise<MetricFamily[]> {
  const { store, sessions, workers, reads, name } = workspace
  const messages = await reads.run(store.queries.messagesEver(), new ReadTimeBudget(), new AbortController().signal)
  const { bounds, counts, sumSeconds } = store.commitTimes
  let below = 0
  const buckets = counts.map((count, at): Sample => {
    below += count
    return ['_bucket', { le: String(bounds[at] ?? '+Inf') }, below]
  })
  const states = new Map<string, number>()
  for (const { status } of workers.reports.wishedWorkers()) states.set(status, (states.get(status) ?? 0) + 1)
  const runs = store.view.runs.running().length
  const files = Object.entries(fileBytes?.(name) ?? {})
  return [
    singleSample('messages', 'counter', 'Messages that were ever stored, including pruned ones.', '_total', messages),
    singleSample(
      'entries',
      'counter',
      'Entries of the journal: commands that changed something.',
      '_total',
      store.journal.lastSeq,
    ),
    {
      ...{ name: 'commit_seconds', type: 'histogram', unit: 'seconds', help: 'How long a commit took, sync included.' },
      samples: [...buckets, ['_sum', {}, sumSeconds], ['_count', {}, below]],
    },
    singleSample('agents', 'gauge', 'Agents that are registered.', '', store.queries.agentCount()),
    singleSample('sessions', 'gauge', 'Live sessions in this workspace.', '', sessions.size),
    {
      ...{ name: 'workers', type: 'gauge', help: 'Programs that run for agents, by their status.' },
      samples: [...states].map(([status, count]): Sample => ['', { status }, count]),
    },
    singleSample('approvals', 'gauge', 'Open approvals.', '', store.view.approvals.open().length),
    singleSample('runs', 'gauge', 'Runs in progress.', '', runs),
    {
      ...{ name: 'file_bytes', type: 'gauge', unit: 'bytes', help: "Size of the workspace's files on disk." },
      samples: files.map(([file, bytes]): Sample => ['', { file }, bytes]),
    },
    ...sharedMetrics(workspace),
  ]
}

/** Metrics of a workspace that several machines share; empty for any other workspace. */
function sharedMetrics({ engine, outbox }: DaemonCallScope['workspace']): MetricFamily[] {
  const { replicaLagMs } = engine
  if (replicaLagMs === undefined) return []
  const lag =
    "Time since this machine's copy of the shared workspace was last known to hold everything that the database has, or since the workspace was opened here."
  const waiting = 'Messages that wait on this machine and are not in the shared workspace yet.'
  return [
    singleSample('replica_lag_seconds', 'gauge', lag, '', replicaLagMs / 1_000, 'seconds'),
    singleSample('outbox_messages', 'gauge', waiting, '', outbox.count),
  ]
}

function daemonMetrics({ version, uptimeMs, lag }: DaemonCallScope['daemon']): MetricFamily[] {
  const { p50, p99, max } = lag()
  // The label is not `quantile`, which OpenMetrics reserves for summaries.
  const lags = Object.entries({ '50': p50, '99': p99, '100': max })
  return [
    { name: 'build', type: 'info', help: 'Version of the daemon.', samples: [['_info', { version }, 1]] },
    singleSample('uptime_seconds', 'gauge', 'Time since the daemon started.', '', uptimeMs() / 1_000, 'seconds'),
    singleSample('resident_bytes', 'gauge', 'Memory of the daemon.', '', process.memoryUsage.rss(), 'bytes'),
    {
      ...{ name: 'event_loop_lag_seconds', type: 'gauge', unit: 'seconds' },
      help: 'How late the event loop ran in the last minute: its median, its 99th percentile and its worst.',
      samples: lags.map(([percentile, ms]): Sample => ['', { percentile }, ms / 1_000]),
    },
  ]
}

function singleSample(
  name: string,
  type: MetricFamily['type'],
  help: string,
  suffix: string,
  value: number,
  unit?: string,
): MetricFamily {
  return { name, type, help, unit, samples: [[suffix, {}, value]] }
}

function textOf({ name, type, help, unit, samples }: MetricFamily): string {
  const full = `${metricNamePrefix}${name}`
  const head = [`# TYPE ${full} ${type}`, ...(unit ? [`# UNIT ${full} ${unit}`] : []), `# HELP ${full} ${help}`]
  const lines = samples.map(([suffix, labels, value]) => {
    const all = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
    return `${full}${suffix}${all.length > 0 ? `{${all.join(',')}}` : ''} ${value}`
  })
  return `${[...head, ...lines].join('\n')}\n`
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
