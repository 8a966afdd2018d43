import { describe, expect, onTestFinished, test } from 'vitest'
import { settle, TestClock } from '../base/time/clock.fake.ts'
import type { Clock } from '../base/time/clock.ts'
import { type Lease, leases, UNINSTALLING_ANNOTATION } from '../store/cluster/lease.ts'
import { openFolderStore } from '../store/folder/folder.ts'
import type { ObjectStore } from '../store/store.ts'
import { type Leader, type Leadership, startLeader } from './leader.ts'

type Store = Pick<ObjectStore, 'read' | 'create' | 'update'>
type Health =
  | 'well'
  | 'refuses'
  | 'hangs'
  | 'hangs once'
  | 'answers get lost'
  | 'writes late'
  | 'answers late'
  | 'suspends'

const NAMESPACE = 'lodestone'
const NAME = 'lodestone-loops'
const STEP_MS = 100
const LATE_MS = 4000
const HOUR_MS = 3_600_000

/** Several replicas with one store, and the state of each. */
class Scene {
  readonly clock = new TestClock()
  readonly shared = openFolderStore({ kinds: [] })
  readonly replicas: Replica[] = []

  /** `skewMs` is the error of the replica's wall clock. */
  join(name: string, input: ReplicaInput = {}): Replica {
    const replica = new Replica(this, name, input)
    this.replicas.push(replica)
    onTestFinished(() => {
      replica.health = 'refuses'
      void replica.leader.stop()
    })
    return replica
  }

  /** The replicas that work now; at most one. */
  get working(): string[] {
    return this.replicas.filter((replica) => replica.works && !replica.isSuspended).map((replica) => replica.name)
  }

  /** Advances the time in small steps, and checks at each step that at most one replica works. */
  async pass(ms: number): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) await this.#step()
  }

  /** Returns the time until `condition` holds; throws if it is more than `limitMs`. */
  async timeUntil(condition: () => boolean, limitMs = 60_000): Promise<number> {
    const fromMs = this.clock.now()
    while (!condition()) {
      if (this.clock.now() - fromMs >= limitMs) throw new Error(`not within ${limitMs} ms: ${condition}`)
      await this.#step()
    }
    return this.clock.now() - fromMs
  }

  async lease(): Promise<Lease | undefined> {
    return this.shared.read(leases, NAMESPACE, NAME)
  }

  async #step(): Promise<void> {
    this.clock.advance(STEP_MS)
    await settle(1)
    expect(this.working.length, this.working.join(' and ')).toBeLessThanOrEqual(1)
  }
}

type Work = (signal: AbortSignal) => Promise<void>

interface ReplicaInput {
  skewMs?: number
  windDownMs?: number
  work?: Work
  health?: Health
}

/** The clock of a process that can be suspended. The time passes meanwhile, and timers that are overdue fire when it continues. */
class ProcessClock implements Clock {
  readonly #shared: TestClock
  #overdue: (() => void)[] | undefined

  constructor(shared: TestClock) {
    this.#shared = shared
  }

  now = () => this.#shared.now()
  epochMs = () => this.#shared.epochMs()
  random = () => this.#shared.random()

  after(delayMs: number, run: () => void): () => void {
    let isCanceled = false
    const fire = () => void (isCanceled || run())
    const cancel = this.#shared.after(delayMs, () => (this.#overdue ? this.#overdue.push(fire) : run()))
    return () => {
      isCanceled = true
      cancel()
    }
  }

  suspend(): void {
    this.#overdue = []
  }

  continue(): void {
    const overdue = this.#overdue ?? []
    this.#overdue = undefined
    for (const fire of overdue) fire()
  }
}

class Replica {
  readonly name: string
  readonly leader: Leader
  readonly errors: string[] = []
  readonly requests: string[] = []
  health: Health
  works = false
  starts = 0
  stops = 0
  withdrawals = 0
  leadership: Leadership | undefined
  signal: AbortSignal | undefined
  isSuspended = false
  readonly #clock: ProcessClock
  #answer = Promise.withResolvers<void>()
  #crashed = false
  readonly #scene: Scene

  constructor(scene: Scene, name: string, input: ReplicaInput) {
    this.#scene = scene
    this.name = name
    this.health = input.health ?? 'well'
    this.#clock = new ProcessClock(scene.clock)
    const clock = this.#clock
    const work = input.work ?? ((signal) => this.#work(signal, input.windDownMs ?? 0))
    this.leader = startLeader({
      store: this.#store(scene.shared),
      namespace: NAMESPACE,
      name: NAME,
      identity: name,
      clock,
      now: () => Date.UTC(2026, 0, 1) + clock.now() + (input.skewMs ?? 0),
      onStarted: (signal, leadership) => {
        this.works = !this.#crashed
        this.starts += 1
        this.leadership = leadership
        this.signal = signal
        return work(signal).finally(() => {
          this.works = false
        })
      },
      onStopped: () => {
        this.stops += 1
      },
      onWithdrawn: () => {
        this.withdrawals += 1
      },
      onError: (error) => this.errors.push((error as Error).message),
    })
  }

  /** Whether its work has begun, and was not ended since. */
  get mayWork(): boolean {
    return this.signal?.aborted === false
  }

  /** Stops all requests and callbacks of the replica. */
  crash(): void {
    this.#crashed = true
    this.works = false
    this.health = 'hangs'
  }

  /** Continues the suspended process, with the answer that it has waited for. Its timers wait for `fireTimers`. */
  async continue(): Promise<void> {
    this.health = 'well'
    this.#answer.resolve()
    await settle(1)
  }

  fireTimers(): void {
    this.isSuspended = false
    this.#clock.continue()
  }

  async #work(signal: AbortSignal, windDownMs: number): Promise<void> {
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    if (windDownMs > 0) await this.#later(windDownMs)
  }

  #store(shared: ObjectStore): Store {
    return {
      read: (...input) => this.#ask('read', () => shared.read(...input)),
      create: (...input) => this.#ask('create', () => shared.create(...input)),
      update: (...input) => this.#ask('update', () => shared.update(...input)),
    }
  }

  async #ask<T>(verb: string, run: () => Promise<T>): Promise<T> {
    this.requests.push(verb)
    const health = this.health
    if (health === 'hangs once') this.health = 'well'
    if (health === 'hangs' || health === 'hangs once') return new Promise(() => {})
    if (health === 'refuses') throw new Error('refused')
    if (health === 'writes late') await this.#later(LATE_MS)
    const answer = await run()
    if (health === 'answers get lost') throw new Error('the answer got lost')
    if (health === 'answers late') await this.#later(LATE_MS)
    if (health === 'suspends' && verb !== 'read') {
      this.isSuspended = true
      this.#clock.suspend()
      await this.#answer.promise
    }
    return answer
  }

  #later(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#scene.clock.after(ms, resolve)
    })
  }
}

/** Two replicas, of which `a` is the leader. */
async function openPair(a = {}, b = {}): Promise<{ scene: Scene; a: Replica; b: Replica }> {
  const scene = new Scene()
  const first = scene.join('a', a)
  await scene.pass(500)
  const second = scene.join('b', b)
  await scene.pass(5000)
  expect(scene.working).toEqual(['a'])
  return { scene, a: first, b: second }
}

describe('two replicas', () => {
  test('have one leader, which does not change', async () => {
    const { scene, a, b } = await openPair()
    await scene.pass(120_000)
    expect(scene.working).toEqual(['a'])
    expect([a.mayWork, b.mayWork]).toEqual([true, false])
    expect([...a.errors, ...b.errors, a.stops, b.stops]).toEqual([0, 0])
  })

  test('that start at the same time have one leader', async () => {
    const scene = new Scene()
    scene.join('a')
    scene.join('b')
    await scene.pass(5000)
    expect(scene.working).toHaveLength(1)
    expect(scene.replicas.flatMap(({ errors }) => errors)).toEqual([])
  })

  test('change the leader immediately after the stop of the leader and of its work', async () => {
    const { scene, a, b } = await openPair({ windDownMs: 30_000 })
    const stopped = a.leader.stop()
    expect(a.mayWork).toBe(false)
    await scene.pass(29_000)
    // Longer than the lifetime of a Lease: it is renewed while the work stops.
    expect(scene.working).toEqual(['a'])
    await scene.timeUntil(() => !a.works, 2000)
    expect(await scene.timeUntil(() => b.works)).toBeLessThan(2500)
    await stopped
    expect((await scene.lease())?.spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 })
    expect(a.stops).toBe(1)
  })

  test.each([0, 500, 1000, 1500, 2000])('change the leader within 20 s after a crash at %i ms', async (ms) => {
    const { scene, a, b } = await openPair()
    await scene.pass(ms)
    a.crash()
    const handOverMs = await scene.timeUntil(() => b.works)
    expect(handOverMs).toBeGreaterThan(10_000)
    expect(handOverMs).toBeLessThanOrEqual(20_000)
  })

  test.each([-HOUR_MS, HOUR_MS])('are not affected by clocks that differ by %i ms', async (skewMs) => {
    const { scene, a, b } = await openPair({}, { skewMs })
    await scene.pass(60_000)
    expect(scene.working).toEqual(['a'])
    a.crash()
    expect(await scene.timeUntil(() => b.works)).toBeLessThanOrEqual(20_000)
    const c = scene.join('c')
    await scene.pass(60_000)
    expect(scene.working).toEqual(['b'])
    await Promise.all([b.leader.stop(), scene.timeUntil(() => c.works, 2500)])
  })
})

describe('an uninstallation', () => {
  const mark = (scene: Scene, value: string | null) =>
    scene.shared.patch(
      leases,
      { namespace: NAMESPACE, name: NAME },
      { metadata: { annotations: { [UNINSTALLING_ANNOTATION]: value } } },
    )

  test('stops the leader and every other replica until the mark is removed', async () => {
    const { scene, a, b } = await openPair({ windDownMs: 1000 })
    await mark(scene, new Date(Date.UTC(2026, 0, 1)).toISOString())
    expect(await scene.timeUntil(() => !a.works)).toBeLessThan(4000)
    await scene.pass(500)
    expect((await scene.lease())?.spec?.holderIdentity).toBe('')
    scene.join('c')
    await scene.pass(60_000)
    expect(scene.working).toEqual([])
    expect([a.withdrawals, b.withdrawals]).toEqual([1, 1])
    await mark(scene, null)
    await scene.pass(5000)
    expect(scene.working).toHaveLength(1)
  })
})

describe('a leader', () => {
  test.each<Health>(['refuses', 'hangs'])(
    'whose store %s stops its work before another replica can become the leader',
    async (health) => {
      const { scene, a, b } = await openPair({ windDownMs: 2000 })
      a.health = health
      expect(await scene.timeUntil(() => !a.mayWork)).toBeLessThanOrEqual(10_000)
      expect(scene.working).toEqual(['a'])
      await scene.timeUntil(() => !a.works, 2000)
      expect(await scene.timeUntil(() => b.works)).toBeGreaterThan(1000)
      expect(a.errors.length).toBeGreaterThan(0)
      a.health = 'well'
      await scene.pass(60_000)
      expect(scene.working).toEqual(['b'])
      expect(a.stops).toBe(1)
    },
  )

  test('whose store recovers in time stays the leader, even if renewals failed', async () => {
    const { scene, a } = await openPair()
    for (const health of ['refuses', 'answers get lost', 'answers late', 'writes late'] as const) {
      a.health = health
      await scene.pass(5000)
      a.health = 'well'
      await scene.pass(10_000)
    }
    expect(scene.working).toEqual(['a'])
    expect(a.stops).toBe(0)
  })

  test('stays the leader if one request hangs on a dropped connection', async () => {
    const { scene, a } = await openPair()
    for (let times = 0; times < 10; times++) {
      a.health = 'hangs once'
      await scene.pass(12_000 + times * 100)
    }
    expect(scene.working).toEqual(['a'])
    expect([a.stops, a.errors.length]).toEqual([0, 10])
  })

  test('that lost the Lease is a candidate again if no other replica has it', async () => {
    const scene = new Scene()
    const a = scene.join('a')
    await scene.timeUntil(() => a.works)
    a.health = 'refuses'
    await scene.timeUntil(() => !a.works)
    a.health = 'well'
    expect(await scene.timeUntil(() => a.works)).toBeLessThan(2500)
    expect((await scene.lease())?.spec?.leaseTransitions).toBe(0)
  })

  test('renews the Lease with one request every two seconds', async () => {
    const { scene, a } = await openPair()
    a.requests.length = 0
    await scene.pass(22_000)
    expect(a.requests).toEqual(Array(10).fill('update'))
  })

  test('stays when another client writes the Lease, or deletes it', async () => {
    const { scene, a } = await openPair()
    const lease = (await scene.lease()) as Lease
    const touched = await scene.shared.patch(
      leases,
      { namespace: NAMESPACE, name: NAME },
      { metadata: { labels: { a: 'b' } } },
    )
    await scene.pass(3000)
    expect((await scene.lease())?.metadata).toMatchObject({ uid: lease.metadata.uid, labels: { a: 'b' } })
    expect((await scene.lease())?.metadata.resourceVersion).not.toBe(touched.metadata.resourceVersion)
    await scene.shared.delete(leases, (await scene.lease()) as Lease)
    await scene.timeUntil(() => a.requests.at(-1) === 'create', 3000)
    await scene.pass(60_000)
    expect(scene.working).toEqual(['a'])
    expect(a.errors).toEqual([])
  })

  test('stops its work when it observes that another replica has the Lease', async () => {
    const { scene, a } = await openPair()
    const lease = (await scene.lease()) as Lease
    await scene.shared.update(leases, { ...lease, spec: { ...lease.spec, holderIdentity: 'z', renewTime: 'just now' } })
    expect(await scene.timeUntil(() => !a.works)).toBeLessThan(2500)
    await scene.pass(10_000)
    expect(scene.working).toEqual([])
    expect((await scene.lease())?.spec?.holderIdentity).toBe('z')
  })

  test('whose work fails reports the error, releases the Lease and is a candidate again', async () => {
    let failures = 0
    const work = (): Promise<void> => Promise.reject(new Error(`failure ${++failures}`))
    const scene = new Scene()
    const a = scene.join('a', { work })
    await scene.timeUntil(() => failures === 1)
    expect((await scene.lease())?.spec?.holderIdentity).toBe('')
    await scene.timeUntil(() => failures === 2, 2500)
    expect([a.errors, a.stops]).toEqual([['failure 1', 'failure 2'], 2])
    const b = scene.join('b')
    await scene.timeUntil(() => b.works, 5000)
  })

  test('whose work ends immediately stays the leader until it is stopped', async () => {
    const scene = new Scene()
    const a = scene.join('a', { work: async () => {} })
    await scene.pass(60_000)
    expect([a.mayWork, a.stops]).toEqual([true, 0])
    await a.leader.stop()
    expect([a.mayWork, a.stops]).toEqual([false, 1])
    expect((await scene.lease())?.spec?.holderIdentity).toBe('')
  })
})

describe('a process that was suspended while its request for the Lease was answered', () => {
  test('starts no work as a candidate, since another replica has the Lease meanwhile', async () => {
    const scene = new Scene()
    const a = scene.join('a', { health: 'suspends' })
    await scene.timeUntil(() => a.isSuspended)
    const b = scene.join('b')
    await scene.timeUntil(() => b.works)

    await a.continue()
    expect(a.starts).toBe(0)
    a.fireTimers()
    await scene.pass(60_000)
    expect([scene.working, a.starts]).toEqual([['b'], 0])
    await b.leader.stop()
    await scene.timeUntil(() => a.works, 3000)
  })

  test('writes nothing as the former leader, and can become the leader again', async () => {
    const { scene, a, b } = await openPair()
    a.leadership?.check()
    a.health = 'suspends'
    await scene.timeUntil(() => a.isSuspended)
    await scene.timeUntil(() => b.works)

    // Another answer may arrive before that for the Lease.
    expect(() => a.leadership?.check()).toThrow('no longer the leader')
    await a.continue()
    expect(() => a.leadership?.check()).toThrow('no longer the leader')
    a.fireTimers()
    await settle(1)
    expect([a.works, a.stops]).toEqual([false, 1])
    await scene.pass(60_000)
    expect(scene.working).toEqual(['b'])
    await b.leader.stop()
    await scene.timeUntil(() => a.works, 3000)
    a.leadership?.check()
  })
})

describe('the work of a stopped leader', () => {
  test('may write until it ends, since the Lease is renewed meanwhile', async () => {
    const { scene, a } = await openPair({ windDownMs: 30_000 })
    void a.leader.stop()
    await scene.pass(29_000)
    a.leadership?.check()
    await scene.timeUntil(() => !a.works, 2000)
  })
})

describe('a stop', () => {
  test('while waiting is immediate, and may be called twice', async () => {
    const { scene, b } = await openPair()
    await Promise.all([b.leader.stop(), b.leader.stop()])
    await scene.pass(20_000)
    expect([scene.working, b.stops, scene.clock.waits.length]).toEqual([['a'], 0, 1])
  })

  test('during a request for the Lease starts no work and keeps no Lease', async () => {
    const scene = new Scene()
    const a = scene.join('a')
    await a.leader.stop()
    expect([a.works, a.stops]).toEqual([false, 0])
    expect((await scene.lease())?.spec?.holderIdentity).toBe('')
  })

  test('does not wait forever for a store that does not respond', async () => {
    const { scene, a, b } = await openPair()
    a.health = 'hangs'
    b.health = 'hangs'
    await scene.pass(3000)
    let stopped = 0
    for (const { leader } of [a, b]) void leader.stop().then(() => stopped++)
    await scene.timeUntil(() => stopped === 2, 20_000)
  })
})

test('a replica needs an identity', () => {
  const scene = new Scene()
  expect(() => scene.join('')).toThrow('needs an identity')
})

test.each([1, 2, 3, 4, 5, 6, 7, 8])('there is at most one leader for any errors of the store (%i)', async (seed) => {
  const scene = new Scene()
  const random = buildRandom(seed)
  const healths: Health[] = ['well', 'well', 'refuses', 'hangs', 'answers get lost', 'writes late', 'answers late']
  for (const name of ['a', 'b', 'c']) {
    scene.join(name, { skewMs: (random() - 0.5) * HOUR_MS, windDownMs: Math.round(random() * 40) * STEP_MS })
  }
  const leaders = new Set<string>()
  for (let i = 0; i < 60; i++) {
    scene.clock.chance = random()
    for (const replica of scene.replicas) replica.health = healths[Math.floor(random() * healths.length)] ?? 'well'
    await scene.pass(Math.ceil(random() * 200) * STEP_MS)
    for (const name of scene.working) leaders.add(name)
  }
  expect(leaders.size).toBeGreaterThan(1)
  for (const replica of scene.replicas) replica.health = 'well'
  await scene.timeUntil(() => scene.working.length === 1, 25_000)
})

/** A random generator with the same numbers in every run (linear congruential). */
function buildRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}
