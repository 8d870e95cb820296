// The metrics of one workspace and of its daemon for `/metrics`, in the text format of OpenMetrics 1.0.

import { Budget } from '../broker/long-reads.ts'
import type { Context } from '../broker/workspace.ts'

export const metricsType = 'application/openmetrics-text; version=1.0.0; charset=utf-8'

type Labels = Record<string, string>
type Sample = [suffix: string, labels: Labels, value: number]

interface Family {
  name: string
  type: 'counter' | 'gauge' | 'histogram' | 'info'
  help: string
  unit?: string
  samples: Sample[]
}

export async function metricsText({ workspace, daemon }: Pick<Context, 'workspace' | 'daemon'>): Promise<string> {
  const { store, reads, name } = workspace
  const steps = store.queries.messageCount(store.journal.lastSeq)
  const messages = await reads.run(steps, new Budget(), new AbortController().signal)
  const families = [...ofWorkspace(workspace, messages), ...ofDaemon(daemon)]
  return `${families.map((family) => textOf(family, name)).join('')}# EOF\n`
}

function ofWorkspace(workspace: Context['workspace'], messages: number): Family[] {
  const { store, sessions, workers } = workspace
  const { bounds, counts, sumSeconds } = store.commitTimes
  let below = 0
  const buckets = counts.map((count, at): Sample => {
    below += count
    return ['_bucket', { le: String(bounds[at] ?? '+Inf') }, below]
  })
  const states = new Map<string, number>()
  for (const { status } of workers.reports.wished()) states.set(status, (states.get(status) ?? 0) + 1)
  const runs = store.view.runs.running().length
  const files = Object.entries({ ...store.sizes(), search: workspace.search.bytes })
  return [
    one('messages', 'counter', 'Messages that were ever stored.', '_total', messages),
    one(
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
    one('agents', 'gauge', 'Agents that are registered.', '', store.queries.agentCount()),
    one('sessions', 'gauge', 'Connections that act here.', '', sessions.size),
    {
      ...{ name: 'workers', type: 'gauge', help: 'Programs that run for agents, by their status.' },
      samples: [...states].map(([status, count]): Sample => ['', { status }, count]),
    },
    one('approvals', 'gauge', 'Approvals that somebody waits for.', '', store.view.approvals.open().length),
    one('runs', 'gauge', 'Contracts that are being carried out.', '', runs),
    {
      ...{ name: 'file_bytes', type: 'gauge', unit: 'bytes', help: 'What its files take on the disk.' },
      samples: files.map(([file, bytes]): Sample => ['', { file }, bytes]),
    },
  ]
}

function ofDaemon({ version, uptimeMs, lag }: Context['daemon']): Family[] {
  const { p50, p99, max } = lag()
  const lags = Object.entries({ '0.5': p50, '0.99': p99, '1': max })
  return [
    { name: 'build', type: 'info', help: 'The daemon.', samples: [['_info', { version }, 1]] },
    one('uptime_seconds', 'gauge', 'Since the daemon started.', '', uptimeMs() / 1_000, 'seconds'),
    one('resident_bytes', 'gauge', 'Memory of the daemon.', '', process.memoryUsage.rss(), 'bytes'),
    {
      ...{ name: 'event_loop_lag_seconds', type: 'gauge', unit: 'seconds' },
      help: 'How late the event loop ran in the last minute: its median, its 99th percentile and its worst.',
      samples: lags.map(([quantile, ms]): Sample => ['', { quantile }, ms / 1_000]),
    },
  ]
}

function one(name: string, type: Family['type'], help: string, suffix: string, value: number, unit?: string): Family {
  return { name, type, help, unit, samples: [[suffix, {}, value]] }
}

function textOf({ name, type, help, unit, samples }: Family, workspace: string): string {
  const full = `agent_relay_${name}`
  const head = [`# TYPE ${full} ${type}`, ...(unit ? [`# UNIT ${full} ${unit}`] : []), `# HELP ${full} ${help}`]
  const lines = samples.map(([suffix, labels, value]) => {
    const all = Object.entries({ workspace, ...labels }).map(([label, text]) => `${label}="${escaped(text)}"`)
    return `${full}${suffix}{${all.join(',')}} ${value}`
  })
  return `${[...head, ...lines].join('\n')}\n`
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
