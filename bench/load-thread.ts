/** Runs a load in a thread of its own: whatever the main thread reads meanwhile, it keeps no answer waiting. */
import { parentPort, Worker, workerData } from 'node:worker_threads'
import { type LoadOptions, type LoadResult, openLoad } from './load.ts'

/** A load that goes on until `end`, which returns its results. */
export interface RunningLoad {
  end(): Promise<LoadResult>
}

type ThreadOptions = Omit<LoadOptions, 'signal'>

/** Starts a load that waits for its answers. It ends with this process, whatever happens. */
export function startLoad(options: ThreadOptions): RunningLoad {
  const worker = new Worker(new URL(import.meta.url), { workerData: { load: options } })
  const result = new Promise<LoadResult>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  // `end` reports the error; a run may fail for other reasons before its caller calls `end`.
  result.catch(() => undefined)
  worker.unref()
  return {
    end() {
      worker.postMessage('end')
      return result
    },
  }
}

async function runInThread(options: ThreadOptions): Promise<void> {
  const aborter = new AbortController()
  parentPort?.once('message', () => aborter.abort())
  const load = await openLoad({ ...options, signal: aborter.signal })
  parentPort?.postMessage(await load.run({ seconds: Number.POSITIVE_INFINITY, poll: false }))
  load.close()
}

if (workerData?.load) await runInThread(workerData.load)
