// How much memory V8 may take for a daemon: little while it starts, no more for young objects than it needs, and after much work only what
// lives. The relay's own data has its limits elsewhere.

import { PerformanceObserver, performance } from 'node:perf_hooks'
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8'
import { compactHeap } from '../../../machine/garbage.ts'

/** V8's own maximum in Node 20 and 22. Node 24 takes 128 MB, which makes nothing faster. */
const youngBytesMax = 32 * 1024 * 1024
/**
 * By how much old objects may grow before they are collected again. V8 by itself waits for up to four times as many: a daemon under load then
 * has 213 MB where 142 do, and is no faster.
 */
const oldGrowthPercent = 50
/** Opening a first workspace takes about this many collections; a daemon under load has them within a tenth of a second. */
const restingCollectionsMax = 16
/** A daemon is at rest if it had almost nothing to do for this long. Two hundred sends a second take it 4 % of its time. */
const restMs = 3_000
const restShareMax = 0.01
/** A heap that is smaller, or has hardly grown since it was made small, is left alone. */
const compactFromBytes = 64 * 1024 * 1024
const compactGrowth = 1.25
/** False if the user has given Node options of their own, which we must not override. */
const isOurs = process.execArgv.length === 0 && !process.env.NODE_OPTIONS

/**
 * Call this before anything else is loaded. Loading some three hundred modules would make V8 grow its young generation and optimise Node's
 * module loader, and keep both for nothing.
 */
export function beginLightStart(): void {
  if (!isOurs) return
  mayGrow(false)
  setFlagsFromString('--no-opt')
}

/** Lets V8 optimise and grow as soon as there is work; an idle daemon needs neither. */
export function endLightStart(): void {
  compactAtRest()
  if (!isOurs) return
  setFlagsFromString(`--heap-growing-percent=${oldGrowthPercent}`)
  let count = 0
  const observer = new PerformanceObserver((list) => {
    count += list.getEntries().length
    if (count < restingCollectionsMax) return
    observer.disconnect()
    setFlagsFromString('--opt')
    boundYoungGeneration()
  })
  observer.observe({ entryTypes: ['gc'] })
}

/** V8 reads its own limit only when the process starts, but it reads the growth factor before each growth. */
export function boundYoungGeneration(): void {
  if (!isOurs) return
  let isGrowing = true
  mayGrow(isGrowing)
  // The young generation grows at the end of a collection, and shrinks when there is little to do.
  new PerformanceObserver(() => {
    const mayStillGrow = youngBytes() < youngBytesMax
    if (mayStillGrow === isGrowing) return
    isGrowing = mayStillGrow
    mayGrow(isGrowing)
  }).observe({ entryTypes: ['gc'] })
}

/**
 * V8 collects when something is allocated: a daemon that has nothing to do after much work would keep half-empty pages for as long as it
 * lives, 240 MB where 160 do. It puts them together once nobody waits for it.
 */
export function compactAtRest(): void {
  let since = performance.eventLoopUtilization()
  let smallest = 0
  setInterval(() => {
    const total = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(total, since)
    since = total
    const { total_heap_size: size } = getHeapStatistics()
    if (utilization > restShareMax || size < Math.max(compactFromBytes, compactGrowth * smallest)) return
    compactHeap()
    smallest = getHeapStatistics().total_heap_size
    since = performance.eventLoopUtilization()
  }, restMs).unref()
}

function mayGrow(isAllowed: boolean): void {
  setFlagsFromString(`--semi-space-growth-factor=${isAllowed ? 2 : 1}`)
}

function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0
}
