// Metrics go to a collector of OpenTelemetry only where our own setting asks for it, in the form that such a collector takes.

import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { otlpTargetOf } from '../../src/wires/otlp.ts'
import { HttpWorld } from './http-world.ts'

interface Received {
  path: string | undefined
  headers: IncomingMessage['headers']
  body: {
    resourceMetrics: { resource: { attributes: object[] }; scopeMetrics: { metrics: Record<string, unknown>[] }[] }[]
  }
}

const received: Received[] = []
let status = 200
let collector: Server | undefined
let world: HttpWorld | undefined
afterEach(async () => {
  await world?.stop()
  collector?.close()
  received.length = 0
  status = 200
})

/** A collector, which keeps what it was sent; returns its address. */
function startCollector(): Promise<string> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      received.push({ path: request.url, headers: request.headers, body: JSON.parse(Buffer.concat(chunks).toString()) })
      response.writeHead(status).end('{}')
    })
  })
  collector = server
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
  })
}

const named = (name: string) => {
  const { metrics = [] } = received.at(-1)?.body.resourceMetrics[0]?.scopeMetrics[0] ?? {}
  return metrics.find((metric) => metric.name === name) as {
    unit?: string
    sum?: { isMonotonic: boolean; dataPoints: { asDouble: number; attributes: object[] }[] }
    gauge?: object
    histogram?: { dataPoints: { count: string; bucketCounts: string[]; explicitBounds: number[] }[] }
  }
}

test('counters, gauges and histograms of all workspaces arrive, with the headers that were set', async () => {
  const url = await startCollector()
  const env = {
    RELAY_METRICS_EXPORT: 'otlp',
    OTEL_EXPORTER_OTLP_ENDPOINT: `${url}/`,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-team=blue%20one,bad',
    OTEL_METRIC_EXPORT_INTERVAL: '1',
  }
  world = await HttpWorld.start({}, ['home', 'other'], { env })
  await until(() => received.length > 0)
  expect(received[0]).toMatchObject({
    path: '/v1/metrics',
    headers: { 'content-type': 'application/json', 'x-team': 'blue one' },
  })
  const { sum } = named('agent_relay_entries')
  expect(sum?.isMonotonic).toBe(true)
  const workspaces = sum?.dataPoints.map(({ attributes }) => attributes)
  expect(workspaces).toEqual(['home', 'other'].map((stringValue) => [{ key: 'workspace', value: { stringValue } }]))
  expect(named('agent_relay_resident_bytes')).toMatchObject({ unit: 'By', gauge: {} })
  const [commits] = named('agent_relay_commit_seconds').histogram?.dataPoints ?? []
  const { count, bucketCounts = [], explicitBounds = [] } = commits ?? {}
  expect(bucketCounts.length).toBe(explicitBounds.length + 1)
  expect(bucketCounts.reduce((all, each) => all + Number(each), 0)).toBe(Number(count))
  expect(Number(count)).toBeGreaterThan(0)
})

test('a collector that refuses is told of once', async () => {
  const url = await startCollector()
  status = 503
  const env = {
    RELAY_METRICS_EXPORT: 'otlp',
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${url}/here`,
    OTEL_METRIC_EXPORT_INTERVAL: '1',
  }
  world = await HttpWorld.start({}, ['home'], { env })
  await until(() => received.length > 1)
  expect(received[0]?.path).toBe('/here')
  const told = world.troubles.splice(0).map(({ message }) => message)
  expect(told).toEqual([`Metrics could not be sent to ${url}/here: it answered 503`])
})

test.each([
  ['http://me:hunter2@127.0.0.1:9/v1?key=hunter2', 'http://127.0.0.1:9/v1: it cannot be asked; credentials go in '],
  ['hunter2', 'an address that is not a URL: '],
])('no password of the address %s gets into the log', async (address, shown) => {
  const env = {
    RELAY_METRICS_EXPORT: 'otlp',
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: address,
    OTEL_METRIC_EXPORT_INTERVAL: '1',
  }
  world = await HttpWorld.start({}, ['home'], { env })
  const { troubles } = world
  await until(() => troubles.length > 0)
  const told = troubles.splice(0).map(({ message }) => message)
  expect(told).toEqual([expect.stringContaining(`Metrics could not be sent to ${shown}`)])
  expect(told.join()).not.toContain('hunter2')
})

test('the variables of OpenTelemetry alone send nothing, and any other wish is refused aloud', async () => {
  const url = await startCollector()
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_METRIC_EXPORT_INTERVAL: '1', RELAY_METRICS_EXPORT: 'statsd' }
  world = await HttpWorld.start({}, ['home'], { env })
  expect(world.troubles.splice(0).map(({ message }) => message)).toEqual([
    'RELAY_METRICS_EXPORT is "statsd", and metrics are sent as otlp only. Set it to otlp, or unset it.',
  ])
  expect(received).toEqual([])
  expect(otlpTargetOf({})).toEqual({ url: 'http://localhost:4318/v1/metrics', headers: {}, intervalMs: 60_000 })
})
