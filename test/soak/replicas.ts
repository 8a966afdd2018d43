// The replicas of Lodestone in the soak test: the leader, the stopped replicas, their memory, and the errors in their logs.
import { readdirSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { memoryMiB } from '../../bench/harness/process.ts'
import type { Lodestone } from '../e2e/lodestone.ts'

export interface Sample {
  seconds: number
  pid: number
  rssMiB: number
  descriptors: number
}

interface Replica {
  name: string
  lodestone: Lodestone
  // Set while we bring it down and up again.
  change: Promise<void> | undefined
  samples: Sample[]
  logOffset: number
}

export class Replicas {
  readonly #replicas: Replica[]
  readonly #start = Date.now()
  #kills = 0

  // The first one is never ended: its memory is watched for the whole time.
  constructor(replicas: { name: string; lodestone: Lodestone }[]) {
    this.#replicas = replicas.map((replica) => ({ ...replica, change: undefined, samples: [], logOffset: 0 }))
  }

  // How many may be ended.
  get count(): number {
    return this.#replicas.length - 1
  }

  get all(): readonly Replica[] {
    return this.#replicas
  }

  async leader(): Promise<number> {
    const deadline = Date.now() + 30_000
    while (Date.now() < deadline) {
      // One that is down refuses the connection.
      const leading = await Promise.all(
        this.#replicas.map(({ lodestone }) => lodestone.metric('leader_election_master_status').catch(() => 0)),
      )
      const found = leading.indexOf(1)
      // The first one stays; another one dies in its place.
      if (found >= 0) return found === 0 ? this.#kills++ % this.count : found - 1
      await sleep(100)
    }
    throw new Error('no replica leads')
  }

  async kill(index: number): Promise<void> {
    await this.#change(index, async ({ lodestone }) => {
      await lodestone.kill()
      await lodestone.restart()
    })
  }

  async restart(index: number): Promise<void> {
    await this.#change(index, ({ lodestone }) => lodestone.restart())
  }

  // A replica that could not start, since the API server was away, is started again.
  async allRun(): Promise<void> {
    for (const [index, replica] of this.#replicas.entries()) {
      await replica.change
      if (index > 0 && !isAlive(replica.lodestone.pid)) await replica.lodestone.restart()
    }
  }

  // Returns the replicas that have ended by themselves.
  dead(): string[] {
    return this.#replicas.flatMap(({ name, lodestone, change }) =>
      change === undefined && !isAlive(lodestone.pid) ? [`${name} has ended by itself; see ${lodestone.logFile}`] : [],
    )
  }

  sample(): void {
    const seconds = (Date.now() - this.#start) / 1000
    for (const { lodestone, change, samples } of this.#replicas) {
      if (change !== undefined || !isAlive(lodestone.pid)) continue
      const { pid } = lodestone
      samples.push({ seconds, pid, rssMiB: memoryMiB(pid).now, descriptors: readdirSync(`/proc/${pid}/fd`).length })
    }
  }

  // Lines of the logs since the last call that speak of an error, or that no logger wrote.
  async errors(): Promise<string[]> {
    const found = await Promise.all(this.#replicas.map(async (replica) => (await newLines(replica)).flatMap(errorIn)))
    return found.flat()
  }

  async #change(index: number, act: (replica: Replica) => Promise<void>): Promise<void> {
    const replica = this.#replicas[index + 1]
    if (!replica || replica.change) return
    const change = act(replica).finally(() => {
      replica.change = undefined
    })
    replica.change = change.catch(() => undefined)
    await sleep(0)
  }
}

async function newLines(replica: Replica): Promise<string[]> {
  const file = await open(replica.lodestone.logFile)
  try {
    const { size } = await file.stat()
    const { buffer } = await file.read(
      Buffer.alloc(size - replica.logOffset),
      0,
      size - replica.logOffset,
      replica.logOffset,
    )
    const end = buffer.lastIndexOf(10) + 1
    replica.logOffset += end
    return buffer
      .toString('utf8', 0, end)
      .split('\n')
      .filter(Boolean)
      .map((line) => `${replica.name}: ${line}`)
  } finally {
    await file.close()
  }
}

// Expected errors: no replica keeps the certificates while all are down, and no read succeeds while the API server is down.
const announced = [/"msg":"certificate check failed/]

function errorIn(line: string): string[] {
  const text = line.slice(line.indexOf(': ') + 2)
  const isLogger = text.startsWith('{"level":"')
  // SIGKILL may end a line in its middle.
  if (isLogger && !/^\{"level":"(error|fatal)"/.test(text)) return []
  return announced.some((pattern) => pattern.test(text)) ? [] : [line.slice(0, 2_000)]
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false // There is no such process.
  }
}
