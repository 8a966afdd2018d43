/** Starts the health server in its own thread and answers its queries. The thread serves probes also while this thread is busy. */
import { Worker } from 'node:worker_threads'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import {
  type FromThread,
  HEARTBEAT_MS,
  type HealthQuery,
  type HealthThreadInput,
  MAX_METRICS_CHARACTERS,
  type NotReady,
  type ToThread,
} from './health-protocol.ts'

export interface HealthOptions {
  host: string
  port: number
  /** Liveness fails if the main thread has been busy for longer. */
  livenessStallMs: number
  /** The reasons why the server is not ready; empty if it is. */
  notReady: () => NotReady[]
  /** What a ready server lacks, for the text of `/readyz`; nothing if absent. */
  warnings?: () => string[]
  metrics: Metrics
  log: Logger
}

export interface HealthServer {
  port: number
  close(): Promise<void>
}

/** The file is TypeScript in the sources and JavaScript in the build. */
const THREAD = new URL(import.meta.url.endsWith('.ts') ? './health-thread.ts' : './health-thread.js', import.meta.url)

/** Resolves when the server listens; rejects if the port is in use. */
export async function openHealthServer(options: HealthOptions): Promise<HealthServer> {
  const { host, port, livenessStallMs, log } = options
  const heartbeat = new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT))
  const beat = () => void Atomics.store(heartbeat, 0, process.hrtime.bigint())
  beat()
  const timer = setInterval(beat, HEARTBEAT_MS)
  const workerData: HealthThreadInput = { host, port, heartbeat, livenessStallMs }
  const worker = new Worker(THREAD, {
    workerData,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 },
  })
  let closing = false

  function close(): Promise<void> {
    closing = true
    clearInterval(timer)
    return worker.terminate().then(() => undefined)
  }

  const listening = new Promise<number>((resolve, reject) => {
    worker.on('message', (message: FromThread) => {
      if (message.kind === 'listening') resolve(message.port)
      else if (message.kind === 'failed') reject(Object.assign(new Error(message.message), { code: message.code }))
      else void answer(message.about, options).then((known) => worker.postMessage(known))
    })
    worker.on('error', (error) => {
      reject(error)
      log.error({ err: error }, 'health server failed; the probes fail, so that the kubelet restarts the container')
    })
    worker.on('exit', () => {
      if (!closing) reject(new Error('the thread of the health server ended'))
    })
  })
  try {
    return { port: await listening, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function answer(about: HealthQuery, { notReady, warnings, metrics, log }: HealthOptions): Promise<ToThread> {
  try {
    if (about === 'readiness') return { kind: 'readiness', reasons: notReady(), warnings: warnings?.() ?? [] }
    const text = await metrics.registry.metrics()
    return { kind: 'metrics', text: text.length > MAX_METRICS_CHARACTERS ? undefined : text }
  } catch (error) {
    // An error of one metric, for instance about an object that it does not expect, must not end the process at each scrape.
    log.error({ about, err: error }, 'query of the health server failed')
    return { kind: 'failed', about }
  }
}
