// Plays worlds in several threads: a world keeps one processor busy, and shares nothing with another world.
import { on } from 'node:events'
import { parentPort, Worker, workerData } from 'node:worker_threads'
import type { Action, WorldConfig } from './actions.ts'
import { runSeed } from './run.ts'

export interface WorldOptions {
  firstSeed: number
  maxSteps: number
  // A world ends after this many steps, so that a failure is short. Default: 1000.
  worldSteps?: number
  // Guarantees that are not checked.
  ignored: string[]
  stories: boolean
  // Whether `what-if` is asked about some actions.
  asks: boolean
  // Prints every step.
  log: boolean
}

export interface Played {
  seed: number
  config: WorldConfig
  actions: Action[]
  failure?: { guarantee: string; message: string }
}

interface Share {
  worlds: WorldOptions
  first: number
  threads: number
}

// Yields worlds in the order of their seeds, as many as the caller takes.
export async function* playWorlds(worlds: WorldOptions, threads: number): AsyncGenerator<Played> {
  const workers = Array.from({ length: threads }, (_, first) => {
    const share: Share = { worlds, first, threads }
    return new Worker(new URL(import.meta.url), { workerData: share })
  })
  const played = workers.map((worker) => on(worker, 'message'))
  try {
    for (let world = 0; ; world++) {
      yield (await played[world % threads]?.next())?.value?.[0]
    }
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()))
  }
}

// Plays every world of its share, until its thread is terminated.
async function play({ worlds, first, threads }: Share): Promise<void> {
  const { firstSeed, maxSteps, worldSteps = 1000, ignored, stories, asks, log } = worlds
  for (let world = first; ; world += threads) {
    // The last world gets the rest of the steps. Others follow it only if worlds ended early.
    const rest = maxSteps - world * worldSteps
    const seed = firstSeed + world
    const limit = rest > 0 ? Math.min(worldSteps, rest) : worldSteps
    const print = log ? console.log : undefined
    const { config, actions, failure } = await runSeed(seed, limit, print, ignored, { stories, asks })
    const broken = failure && { guarantee: failure.guarantee, message: failure.message }
    parentPort?.postMessage({ seed, config, actions, ...(broken && { failure: broken }) } satisfies Played)
  }
}

if (workerData?.worlds) await play(workerData)
