// Sends metrics to a collector of OpenTelemetry, as OTLP over HTTP with JSON. Loaded only if RELAY_METRICS_EXPORT asks for it. The usual variables of
// OpenTelemetry only name the collector, since they are often set for other programs.

import type { Env } from '@agent-relay/sdk/internal/discover'
import { tryOrUndefined } from '../machine/try-or-undefined.ts'
import { type MetricFamily, metricNamePrefix } from './metrics.ts'

export interface OtlpTarget {
  url: string
  headers: Record<string, string>
  intervalMs: number
}

const [intervalDefaultMs, intervalMinMs, answerMs] = [60_000, 1_000, 10_000]

/** Reads the collector's URL and headers from the usual variables of OpenTelemetry. The default is a collector on this machine. */
export function otlpTargetOf(env: Env): OtlpTarget {
  const base = (env.OTEL_EXPORTER_OTLP_ENDPOINT || 'http://localhost:4318').replace(/\/+$/, '')
  const headers = env.OTEL_EXPORTER_OTLP_METRICS_HEADERS || env.OTEL_EXPORTER_OTLP_HEADERS || ''
  return {
    url: env.OTEL_EXPORTER_OTLP_METRICS_ENDPOINT || `${base}/v1/metrics`,
    headers: headersOf(headers),
    intervalMs: Math.max(intervalMinMs, Number(env.OTEL_METRIC_EXPORT_INTERVAL) || intervalDefaultMs),
  }
}

/** Reads `name=value,name=value`, where values may be percent-encoded. */
function headersOf(text: string): Record<string, string> {
  const pairs = text.split(',').flatMap((pair): [string, string][] => {
    const at = pair.indexOf('=')
    return at < 1 ? [] : [[pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())]]
  })
  return Object.fromEntries(pairs)
}

function decoded(text: string): string {
  return tryOrUndefined(() => decodeURIComponent(text)) ?? text
}

export interface MetricsExportOptions {
  target: OtlpTarget
  version: string
  collect(): Promise<MetricFamily[]>
  /** Called when metrics could not be sent; not called again until an attempt has succeeded. */
  onTrouble(error: Error): void
}

export class MetricsExport {
  readonly #options: MetricsExportOptions
  readonly #startedAt = Date.now()
  readonly #timer: NodeJS.Timeout
  #isTold = false

  constructor(options: MetricsExportOptions) {
    this.#options = options
    this.#timer = setInterval(() => void this.send(), options.target.intervalMs)
    this.#timer.unref()
  }

  /** Sends the metrics as they are now. */
  async send(): Promise<void> {
    const { target, version, collect, onTrouble } = this.#options
    try {
      const body = JSON.stringify(
        otlpRequestBody(await collect(), { version, startedAt: this.#startedAt, at: Date.now() }),
      )
      const headers = { ...target.headers, 'content-type': 'application/json' }
      const signal = AbortSignal.timeout(answerMs)
      const answer = await fetch(target.url, { method: 'POST', headers, body, signal, redirect: 'error' })
      await answer.body?.cancel()
      if (!answer.ok) throw new Error(`it answered ${answer.status}`)
      this.#isTold = false
    } catch (error) {
      const why = reasonOf(error as Error)
      if (!this.#isTold) onTrouble(new Error(`Metrics could not be sent to ${shownAddress(target.url)}: ${why}`))
      this.#isTold = true
    }
  }

  close(): void {
    clearInterval(this.#timer)
  }
}

/** Returns the address as the log may show it: a password or a key may be part of it. */
function shownAddress(url: string): string {
  if (!URL.canParse(url)) return 'an address that is not a URL'
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}

/**
 * Returns why a `fetch` failed: its cause, which says more than its message. The message of a TypeError is not shown, since it may contain the URL with a
 * password.
 */
function reasonOf({ name, message, cause }: Error): string {
  if (cause instanceof Error) return cause.message
  return name === 'TypeError' ? 'it cannot be asked; credentials go in OTEL_EXPORTER_OTLP_HEADERS' : message
}

interface ExportMoment {
  version: string
  startedAt: number
  at: number
}

/** Returns families of metrics as a request of OTLP. */
export function otlpRequestBody(families: readonly MetricFamily[], moment: ExportMoment): object {
  const resource = attributesOf({ 'service.name': 'agent-relay', 'service.version': moment.version })
  const metrics = families.filter(({ type }) => type !== 'info').map((family) => metricOf(family, moment))
  const scopeMetrics = [{ scope: { name: 'agent-relay', version: moment.version }, metrics }]
  return { resourceMetrics: [{ resource: { attributes: resource }, scopeMetrics }] }
}

const units: Record<string, string> = { seconds: 's', bytes: 'By' }
/** OTLP's code for sums that count from the start of the program, and not from the last report. */
const cumulative = 2

function metricOf(family: MetricFamily, moment: ExportMoment): object {
  const { name, type, help, unit } = family
  const about = { name: `${metricNamePrefix}${name}`, description: help, ...(unit ? { unit: units[unit] } : {}) }
  if (type === 'histogram')
    return { ...about, histogram: { aggregationTemporality: cumulative, dataPoints: histogramsOf(family, moment) } }
  const dataPoints = family.samples.map(([, labels, value]) => ({
    attributes: attributesOf(labels),
    timeUnixNano: nanosOf(moment.at),
    asDouble: value,
  }))
  if (type === 'gauge') return { ...about, gauge: { dataPoints } }
  return { ...about, sum: { aggregationTemporality: cumulative, isMonotonic: true, dataPoints } }
}

/** Returns one data point for each workspace. The buckets of OpenMetrics each contain those below them; the buckets of OTLP do not. */
function histogramsOf({ samples }: MetricFamily, { startedAt, at }: ExportMoment): object[] {
  const workspaces = new Set(samples.map(([, { workspace }]) => workspace))
  return [...workspaces].map((workspace) => {
    const own = samples.filter(([, labels]) => labels.workspace === workspace)
    const buckets = own.filter(([suffix]) => suffix === '_bucket')
    const figureOf = (wanted: string) => own.find(([suffix]) => suffix === wanted)?.[2] ?? 0
    return {
      attributes: attributesOf(workspace === undefined ? {} : { workspace }),
      startTimeUnixNano: nanosOf(startedAt),
      timeUnixNano: nanosOf(at),
      count: String(figureOf('_count')),
      sum: figureOf('_sum'),
      bucketCounts: buckets.map(([, , value], i) => String(value - (buckets[i - 1]?.[2] ?? 0))),
      explicitBounds: buckets.flatMap(([, { le }]) => (le === '+Inf' ? [] : [Number(le)])),
    }
  })
}

function attributesOf(labels: Record<string, string>): object[] {
  return Object.entries(labels).map(([key, stringValue]) => ({ key, value: { stringValue } }))
}

function nanosOf(ms: number): string {
  return `${ms}000000`
}
