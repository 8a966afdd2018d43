/** Sends one review again and again on keep-alive connections, as kube-apiserver does, and measures each answer. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { quantile } from './report.ts'
import { connectTo, post, type Server } from './server.ts'

interface LoadOptions {
  body: string
  connections: number
  /** Milliseconds between an answer and the next review. */
  pauseMs?: number
}

interface RunOptions {
  /** Ends the run before its time. */
  signal?: AbortSignal
  /**
   * Polls instead of sleeping between answers. A server that is faster than its client never finds the client asleep. A slower server
   * pays tens of microseconds on a virtual machine to wake it. Polling removes that cost.
   */
  poll?: boolean
}

export type Load = ReturnType<typeof openLoad>
export type LoadResult = Awaited<ReturnType<Load['run']>>

/** Opens connections. The first answers include the cost to open them. */
export function openLoad(server: Server, { body, connections, pauseMs = 0 }: LoadOptions) {
  const clients = Array.from({ length: connections }, () => connectTo(server))
  return {
    async run(seconds: number, { signal, poll = false }: RunOptions = {}) {
      const latencies: number[] = []
      const end = performance.now() + seconds * 1000
      const isOver = () => signal?.aborted === true || performance.now() >= end
      const keepAwake = () => void (poll && !isOver() && setImmediate(keepAwake))
      keepAwake()
      const send = async (client: (typeof clients)[number]) => {
        while (!isOver()) {
          const sent = performance.now()
          const { status, text } = await post(client, server.path, body)
          if (status !== 200) throw new Error(`HTTP ${status}: ${text}`)
          latencies.push(performance.now() - sent)
          if (pauseMs > 0) await sleep(pauseMs)
        }
      }
      await Promise.all(clients.map(send))
      return { reviews: latencies.length, p99: quantile(latencies, 0.99) }
    },
    close: () => Promise.all(clients.map((client) => client.close())),
  }
}

/** Runs a load in its own thread, so that no work of this thread delays an answer. Returns a function that ends it. */
export function startLoad(server: Server, options: LoadOptions): () => Promise<LoadResult> {
  const worker = new Worker(new URL(import.meta.url), { workerData: { server, options } })
  const { promise, resolve, reject } = Promise.withResolvers<LoadResult>()
  worker.once('message', resolve).once('error', reject).unref()
  // The caller gets the error at the end. Its run may fail for another reason before that.
  promise.catch(() => undefined)
  return () => {
    worker.postMessage('end')
    return promise
  }
}

if (!isMainThread && workerData?.server) {
  const ending = new AbortController()
  parentPort?.once('message', () => ending.abort())
  const load = openLoad(workerData.server, workerData.options)
  parentPort?.postMessage(await load.run(Number.POSITIVE_INFINITY, { signal: ending.signal }))
  await load.close()
}
