import { describe, expect, test } from 'vitest'
import { makeWebhook } from '../../test/builders.ts'
import { storeOf } from '../../test/stores.ts'
import { type InterpreterWebhookConfiguration, interpreterWebhookConfigurations } from '../api/interpreter.ts'
import {
  mutatingWebhookConfigurations,
  validatingWebhookConfigurations,
  type WebhookConfiguration,
} from '../api/registration.ts'
import { connectToFake } from '../store/cluster/api-connection.fake.ts'
import { ApiError } from '../store/cluster/api-error.ts'
import { openClusterStore } from '../store/cluster/cluster.ts'
import { ConflictError, NotFoundError, type ObjectStore } from '../store/store.ts'
import { applyPlan, applyWrite } from './apply.ts'
import { planWithdrawal } from './plan-registration.ts'
import {
  readAbsencePolicies,
  readAdmissionRegistration,
  readInterpreterRegistration,
  writeRegistration,
} from './webhook-registration.ts'

async function reconcileRegistration(store: ObjectStore, wanted: readonly WebhookConfiguration[]): Promise<number> {
  return writeRegistration(store, (await readAdmissionRegistration(store, wanted, false)).replace)
}

async function reconcileInterpreterRegistration(
  store: ObjectStore,
  wanted: InterpreterWebhookConfiguration | undefined,
): Promise<number> {
  return writeRegistration(store, (await readInterpreterRegistration(store, wanted, false)).replace)
}

const type = mutatingWebhookConfigurations

const startStore = () => storeOf([], [])

/** Two configurations with one entry each. */
function wanted(url = 'https://10.0.0.7:9443', caBundle = 'b25l'): WebhookConfiguration[] {
  return [mutatingWebhookConfigurations, validatingWebhookConfigurations].map(({ kind }) => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind,
    metadata: { name: 'lodestone', labels: { 'app.kubernetes.io/name': 'lodestone' } },
    webhooks: [makeWebhook({ url, caBundle })],
  }))
}

const read = (store: Awaited<ReturnType<typeof startStore>>) => store.read(type, undefined, 'lodestone')

describe('the registration in the cluster is kept equal to the wanted one', () => {
  test('it is created if it does not exist', async () => {
    const store = await startStore()

    expect(await reconcileRegistration(store, wanted())).toBe(2)

    const [mutating, validating] = wanted()
    expect(await read(store)).toMatchObject({ webhooks: mutating?.webhooks })
    expect(await store.read(validatingWebhookConfigurations, undefined, 'lodestone')).toMatchObject({
      webhooks: validating?.webhooks,
    })
  })

  test('nothing is written if it is correct', async () => {
    const store = await startStore()
    await reconcileRegistration(store, wanted())
    const before = await read(store)

    expect(await reconcileRegistration(store, wanted())).toBe(0)

    expect(await read(store)).toEqual(before)
  })

  test('a new CA is written to every entry', async () => {
    const store = await startStore()
    await reconcileRegistration(store, wanted())

    expect(await reconcileRegistration(store, wanted('https://10.0.0.7:9443', 'dHdv'))).toBe(2)

    const bundles = (await read(store))?.webhooks?.map(({ clientConfig }) => clientConfig.caBundle)
    expect(bundles).toEqual(['dHdv'])
  })

  test('the changes of another client are reverted, and its labels stay', async () => {
    const store = await startStore()
    await reconcileRegistration(store, wanted())
    const current = await read(store)
    if (!current) throw new Error('it was made')
    await store.update(type, { ...current, metadata: { ...current.metadata, labels: { team: 'a' } }, webhooks: [] })

    expect(await reconcileRegistration(store, wanted())).toBe(1)

    const mended = await read(store)
    expect(mended?.webhooks).toEqual(wanted()[0]?.webhooks)
    expect(mended?.metadata.labels).toEqual({ team: 'a' })
  })

  test('a configuration that another client deleted is created again', async () => {
    const store = await startStore()
    await applyWrite(store, { kind: 'create', type, object: wanted()[0] as WebhookConfiguration })

    expect(await reconcileRegistration(store, wanted())).toBe(1)
    expect(await reconcileRegistration(store, wanted())).toBe(0)
  })
})

describe('the registration with Karmada', () => {
  const type = interpreterWebhookConfigurations
  const wanted = (caBundle = 'b25l'): InterpreterWebhookConfiguration => ({
    apiVersion: 'config.karmada.io/v1alpha1',
    kind: type.kind,
    metadata: { name: 'lodestone', labels: { 'app.kubernetes.io/name': 'lodestone' } },
    webhooks: [
      {
        name: 'dependencies.lodestone.dev',
        clientConfig: { url: 'https://10.0.0.7:9443/interpret/dependencies', caBundle },
        rules: [],
        timeoutSeconds: 3,
        interpreterContextVersions: ['v1alpha1'],
      },
    ],
  })
  const read = (store: ObjectStore) => store.read(type, undefined, 'lodestone')

  test('is created, kept, and updated with a new CA', async () => {
    const store = await startStore()

    expect(await reconcileInterpreterRegistration(store, wanted())).toBe(1)
    expect(await reconcileInterpreterRegistration(store, wanted())).toBe(0)
    expect(await reconcileInterpreterRegistration(store, wanted('dHdv'))).toBe(1)

    expect((await read(store))?.webhooks).toEqual(wanted('dHdv').webhooks)
  })

  test('is emptied once when it is no longer wanted, and filled again', async () => {
    const store = await startStore()
    await reconcileInterpreterRegistration(store, wanted())

    expect(await reconcileInterpreterRegistration(store, undefined)).toBe(1)
    expect(await reconcileInterpreterRegistration(store, undefined)).toBe(0)

    expect((await read(store))?.webhooks).toEqual([])
    expect(await reconcileInterpreterRegistration(store, wanted())).toBe(1)
    expect((await read(store))?.webhooks).toEqual(wanted().webhooks)
  })

  test('is not changed if it has our name but not our labels', async () => {
    const store = await startStore()
    await store.create(type, { ...wanted(), metadata: { name: 'lodestone' } })

    expect(await reconcileInterpreterRegistration(store, undefined)).toBe(0)

    expect(await read(store)).toBeDefined()
  })

  test('is skipped if the API server does not serve the kind, and created when it does', async () => {
    const { server, connection } = await connectToFake([type])
    const store = openClusterStore({ connection, kinds: [] })
    server.serve(type, false)

    expect(await reconcileInterpreterRegistration(store, wanted())).toBe(0)
    expect(await reconcileInterpreterRegistration(store, undefined)).toBe(0)
    server.serve(type, true)
    expect(await reconcileInterpreterRegistration(store, wanted())).toBe(1)
    expect(await reconcileInterpreterRegistration(store, undefined)).toBe(1)
    expect((await read(store))?.webhooks).toEqual([])
  })

  test('is not emptied if it changed since it was read', async () => {
    const store = await startStore()
    await reconcileInterpreterRegistration(store, wanted())
    const withdrawal = planWithdrawal(type, await read(store))
    await reconcileInterpreterRegistration(store, wanted('dHdv'))

    for (const write of withdrawal) await expect(applyWrite(store, write)).rejects.toThrow(ConflictError)

    expect(withdrawal).toHaveLength(1)
    expect((await read(store))?.webhooks).toHaveLength(1)
  })
})

describe('a missing configuration that Lodestone may not create', () => {
  const forbidding = async () => {
    const store = await startStore()
    const create = () => Promise.reject(new ApiError({ status: 403, reason: 'Forbidden', message: 'cannot create' }))
    return new Proxy<ObjectStore>(store, {
      get: (target, member: keyof ObjectStore) =>
        member === 'create' ? create : (target[member] as ((...args: unknown[]) => unknown) | undefined)?.bind(target),
    })
  }

  test('is reported with the command that creates it', async () => {
    await expect(reconcileRegistration(await forbidding(), wanted())).rejects.toThrow(
      /^MutatingWebhookConfiguration lodestone is missing.*"lodestone manifests registration \| kubectl apply -f -"/,
    )
  })

  test('is reported for Karmada as well', async () => {
    const [first] = wanted()
    const object = { ...first, kind: interpreterWebhookConfigurations.kind, webhooks: [] } as never
    await expect(reconcileInterpreterRegistration(await forbidding(), object)).rejects.toThrow(
      /^ResourceInterpreterWebhookConfiguration lodestone is missing.*"lodestone manifests interpreter \| /,
    )
  })

  test('is filled after the installation created it empty', async () => {
    const store = await startStore()
    for (const { webhooks: _, ...empty } of wanted()) await store.create(typeOf(empty.kind), empty)

    expect(await reconcileRegistration(store, wanted())).toBe(2)
    expect((await read(store))?.webhooks).toEqual(wanted()[0]?.webhooks)
  })
})

const typeOf = (kind: string) => (kind === type.kind ? type : validatingWebhookConfigurations)

describe('a plan from an older state changes nothing', () => {
  const object = wanted()[0] as WebhookConfiguration

  test('its create fails if the object exists', async () => {
    const store = await startStore()
    await applyWrite(store, { kind: 'create', type, object })

    await expect(applyWrite(store, { kind: 'create', type, object })).rejects.toThrow(ConflictError)
  })

  test('its update fails if the object changed', async () => {
    const store = await startStore()
    await applyWrite(store, { kind: 'create', type, object })
    const older = (await read(store)) as WebhookConfiguration
    const changed: WebhookConfiguration = { ...older, webhooks: [] }
    await applyWrite(store, { kind: 'update', type, object: changed })
    const now = await read(store)

    await expect(applyWrite(store, { kind: 'update', type, object: older })).rejects.toThrow(ConflictError)

    expect(await read(store)).toEqual(now)
  })

  test('its update fails if the object was deleted', async () => {
    const store = await startStore()
    const gone = { ...object, metadata: { ...object.metadata, resourceVersion: '1' } }

    await expect(applyWrite(store, { kind: 'update', type, object: gone })).rejects.toThrow(NotFoundError)
  })

  test('the actions after a failed action are not applied', async () => {
    const store = await startStore()
    await applyWrite(store, { kind: 'create', type, object })
    const other = { ...object, metadata: { name: 'other' } }

    const plan = { actions: [object, other].map((object) => ({ kind: 'create' as const, type, object })) }
    await expect(applyPlan({ store, events: { record: () => undefined } }, plan)).rejects.toThrow(ConflictError)

    expect(await store.read(type, undefined, 'other')).toBeUndefined()
  })
})

describe('the policies of the API server', () => {
  test.each([
    { name: 'do not exist', error: undefined },
    {
      name: 'may not be read by Lodestone',
      error: new ApiError({ status: 403, reason: 'Forbidden', message: 'cannot get' }),
    },
  ])('count as not installed if they $name', async ({ error }) => {
    const read = async () => {
      if (error) throw error
      return undefined
    }
    expect(await readAbsencePolicies({ read })).toEqual([])
  })

  test('are not forgotten when the API server fails', async () => {
    const read = async () =>
      Promise.reject(new ApiError({ status: 500, reason: 'InternalError', message: 'etcd is away' }))
    await expect(readAbsencePolicies({ read })).rejects.toThrow('etcd is away')
  })
})
