import { describe, expect, test } from 'vitest'
import { makeWebhook } from '../../test/builders.ts'
import { storeOf } from '../../test/stores.ts'
import {
  mutatingWebhookConfigurations,
  type Replica,
  VERSION_ANNOTATION,
  type WebhookConfiguration,
} from '../api/registration.ts'
import { TestClock } from '../base/time/clock.fake.ts'
import type { ObjectStore } from '../store/store.ts'
import { Registrar, type RegistrarResult } from './registrar.ts'
import { readAdmissionRegistration } from './webhook-registration.ts'

const type = mutatingWebhookConfigurations
const HOUR_MS = 3_600_000
const LOOK_MS = 10_000

const registered = (store: ObjectStore) => store.read(type, undefined, 'lodestone')

/** The CA of the first webhook, and the address for which it is. */
async function readCa(store: ObjectStore) {
  const { caBundle, url } = (await registered(store))?.webhooks?.[0]?.clientConfig ?? {}
  return { caBundle, url }
}

/** A leader that keeps the registration of one address, with a CA of its own. */
class Installation {
  readonly own: Replica
  readonly url: string
  ca: string
  readonly #registrar: Registrar
  readonly #store: ObjectStore

  constructor(name: string, store: ObjectStore, clock: TestClock) {
    this.own = { host: name, version: '1.0.0', registration: name }
    this.url = `https://${name}`
    this.ca = btoa(`CA of ${name}`)
    this.#registrar = new Registrar(clock)
    this.#store = store
  }

  async look(others: readonly Replica[] = []): Promise<RegistrarResult> {
    const read = await readAdmissionRegistration(this.#store, [this.#wanted()], false)
    return this.#registrar.run(read, {
      own: this.own,
      others,
      term: { store: this.#store, sinceMs: 0 },
      store: this.#store,
    })
  }

  #wanted(): WebhookConfiguration {
    return {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: type.kind,
      metadata: { name: 'lodestone', annotations: { [VERSION_ANNOTATION]: '1.0.0' } },
      webhooks: [makeWebhook({ url: this.url, caBundle: this.ca })],
    }
  }
}

async function open(...names: string[]) {
  const clock = new TestClock()
  const store = await storeOf()
  return { clock, store, installations: names.map((name) => new Installation(name, store, clock)) }
}

describe('two installations that do not know each other', () => {
  test.each([
    { name: 'at different addresses', urls: ['https://a', 'https://b'] },
    { name: 'at one address', urls: ['https://a', 'https://a'] },
  ])('$name seldom write, and nearly always the CA is that of the address', async ({ urls }) => {
    const { clock, store, installations } = await open('a', 'b')
    for (const [i, installation] of installations.entries()) Object.assign(installation, { url: urls[i] })
    let writes = 0
    let looks = 0
    let served = 0
    for (; clock.now() < HOUR_MS; clock.advance(LOOK_MS)) {
      for (const installation of installations) {
        writes += (await installation.look()).written
        const { caBundle, url } = await readCa(store)
        looks++
        if (installations.some((one) => one.url === url && one.ca === caBundle)) served++
      }
    }
    expect(writes).toBeLessThan(50)
    expect(served / looks).toBeGreaterThan(0.95)
  })
})

describe('a registration that another client changes', () => {
  /** The other client removes the CA before each look, and changes the timeout after the first one. */
  async function change(store: ObjectStore): Promise<void> {
    const current = await registered(store)
    const webhooks = current?.webhooks?.map((entry) => ({
      ...entry,
      timeoutSeconds: 9,
      clientConfig: { url: 'https://a' },
    }))
    if (current) await store.update(type, { ...current, webhooks: webhooks ?? [] })
  }

  test('gets the CA at once, and after that at most every two minutes', async () => {
    const { clock, store, installations } = await open('a')
    const [a] = installations as [Installation]
    await a.look()
    const renewedAt: number[] = []
    for (clock.advance(LOOK_MS); clock.now() < 130_000; clock.advance(LOOK_MS)) {
      await change(store)
      const { written, isServed, kept } = await a.look()
      if (written > 0) renewedAt.push(clock.now())
      expect([isServed, kept?.cause]).toEqual([written > 0, 'reverted'])
    }
    expect(renewedAt).toEqual([10_000])
  })

  test('gets a CA that Lodestone has renewed meanwhile', async () => {
    const { clock, store, installations } = await open('a')
    const [a] = installations as [Installation]
    await a.look()
    for (let times = 0; times < 2; times++) {
      clock.advance(LOOK_MS)
      a.ca = btoa(`CA ${times}`)
      expect((await a.look([{ ...a.own, host: 'old', registration: 'old' }])).written).toBe(1)
      expect((await readCa(store)).caBundle).toBe(a.ca)
    }
  })
})
