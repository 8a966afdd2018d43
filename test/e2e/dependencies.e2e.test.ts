// Dependencies follow their workload on a real Karmada with either distributor: Karmada, which queries Lodestone, or Lodestone.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { KubeObject } from './api-client.ts'
import type { ControlPlane } from './control-plane.ts'
import { type BindingObject, bindings, type Hub, startHub } from './hub.ts'
import { type Lodestone, startLodestone } from './lodestone.ts'
import {
  claim,
  clusterPolicy,
  configMap,
  deployment,
  ingress,
  only,
  persistentVolume,
  persistentVolumeClaim,
  policy,
  type SpecObject,
  secret,
  service,
  serviceAccount,
  source,
} from './manifests.ts'
import { stopAndCheckRights } from './rights.ts'

const modes = [
  { distribution: 'karmada', gate: true, label: 'resourcebinding.karmada.io/depended-by-' },
  { distribution: 'builtin', gate: false, label: 'lodestone.dev/depended-by-' },
]

describe.each(modes)('distributed by $distribution', ({ distribution, gate, label }) => {
  let plane: ControlPlane
  let hub: Hub
  let lodestone: Lodestone

  beforeAll(async () => {
    const started = await startHub({ propagateDeps: gate })
    plane = started.plane
    hub = started.hub
    const { kubeconfig } = started
    lodestone = await startLodestone(plane, {
      kubeconfig,
      config: { dependencies: { distribution, neverPropagated: [{ kind: 'ConfigMap', name: 'own-*' }] } },
    })
  })

  afterAll(() => stopAndCheckRights({ plane, lodestones: [lodestone] }))

  describe('Karmada’s own proposal', () => {
    test('story 1: a later ConfigMap and Secret arrive where the Deployment is', async () => {
      const needs = [configMap('story-settings'), secret('story-password')]
      const workload = deployment('story', { needs })
      await hub.apply(policy('story', { placement: only('member1', 'member3'), propagateDeps: true }), workload)
      await hub.isOnlyIn(workload, 'member1,member3')

      await hub.apply(...needs)

      for (const needed of needs) await hub.isOnlyIn(needed, 'member1,member3')
    })

    test('its example gives the attached binding that it shows', async () => {
      const settings = configMap('my-config')
      const placement = {
        clusterAffinity: { clusterNames: ['member1', 'member2'] },
        replicaScheduling: { replicaSchedulingType: 'Duplicated' },
      }
      const myapp = deployment('myapp', { needs: [settings] })
      await hub.apply(policy('myapp', { placement, propagateDeps: true }), {
        ...myapp,
        spec: { ...myapp.spec, replicas: 1 },
      })
      await hub.apply(settings)

      const attached = await plane.eventually('it is attached', () => attachedTo(settings, 'myapp-deployment'))
      const { uid, resourceVersion } = ((await hub.read(settings)) as KubeObject).metadata
      const referrer = await hub.bindingOf(myapp)
      // Karmada 1.16 sets preserveResourcesOnDeletion at its next update; absent means false.
      expect({ preserveResourcesOnDeletion: false, ...attached.spec }).toEqual({
        conflictResolution: 'Abort',
        preserveResourcesOnDeletion: false,
        requiredBy: [
          {
            namespace: 'default',
            name: 'myapp-deployment',
            clusters: [
              { name: 'member1', replicas: 1 },
              { name: 'member2', replicas: 1 },
            ],
          },
        ],
        resource: {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          namespace: 'default',
          name: 'my-config',
          uid,
          resourceVersion,
        },
      })
      const { labels, annotations, finalizers, ownerReferences } = attached.metadata
      expect(labels).toEqual({
        [idLabel]: expect.stringMatching(/^[0-9a-f-]{36}$/),
        // A hash of default/myapp-deployment.
        [`${label}6df6d5d8c6`]: referrer?.metadata.labels?.[idLabel],
      })
      expect(annotations).toBeUndefined()
      expect(finalizers).toEqual(['karmada.io/binding-controller'])
      expect(ownerReferences).toEqual([
        { apiVersion: 'v1', kind: 'ConfigMap', name: 'my-config', uid, controller: true, blockOwnerDeletion: true },
      ])
    })
  })

  test('the CA of the hub never replaces that of a member, nor do configured objects', async () => {
    const own = [configMap('kube-root-ca.crt'), configMap('own-bundle')]
    const settings = configMap('agent-settings')
    const agent = deployment('agent', { needs: [...own, settings] })
    const overwriting = { placement: only('member2'), propagateDeps: true, conflictResolution: 'Overwrite' as const }
    await hub.apply(...own, settings, policy('agent', overwriting), agent)

    await hub.isOnlyIn(settings, 'member2')
    for (const object of own) await hub.isOnlyIn(object, '')
  })

  describe('what pods refer to', () => {
    const kinds = [
      { kind: 'ConfigMap', needed: configMap('kind-config'), change: { data: { key: 'changed' } } },
      { kind: 'Secret', needed: secret('kind-secret'), change: { data: { key: btoa('changed') } } },
      { kind: 'PersistentVolumeClaim', needed: persistentVolumeClaim('kind-claim'), change: annotated },
      { kind: 'ServiceAccount', needed: serviceAccount('kind-account'), change: annotated },
    ]

    test.each(kinds)('a $kind arrives, moves, changes, and goes when nothing refers to it any more', async (given) => {
      const { kind, needed, change } = given
      const name = `with-${kind}`.toLowerCase()
      const workload = deployment(name, { needs: [needed] })
      const where = (member: string) => policy(name, { placement: only(member), propagateDeps: true })

      await hub.apply(needed, where('member1'), workload)
      await hub.isOnlyIn(needed, 'member1')

      await hub.apply(where('member2'))
      await hub.isOnlyIn(workload, 'member2')
      await hub.isOnlyIn(needed, 'member2')

      await hub.mergePatch(needed, change)
      await looksLike(needed, change, 'member2')

      await hub.apply(deployment(name))
      await hub.isOnlyIn(needed, '')
      await hub.isOnlyIn(workload, 'member2')
    })

    test('dependencies follow a workload of a ClusterPropagationPolicy as well', async () => {
      const needed = configMap('cluster-wide-config')
      const workload = deployment('cluster-wide', { needs: [needed] })
      const where = (member: string) =>
        clusterPolicy('cluster-wide', workload, { placement: only(member), propagateDeps: true })

      await hub.apply(needed, where('member1'), workload)
      await hub.isOnlyIn(needed, 'member1')

      await hub.apply(where('member2'))
      await hub.isOnlyIn(needed, 'member2')

      await hub.mergePatch(needed, { data: { key: 'changed' } })
      await looksLike(needed, { data: { key: 'changed' } }, 'member2')
    })

    test('the second of two ConfigMaps is kept up to date like the first', async () => {
      const needs = [configMap('first-of-two'), configMap('second-of-two')]
      const workload = deployment('two', { needs })
      await hub.apply(...needs, policy('two', { placement: only('member1'), propagateDeps: true }), workload)

      for (const needed of needs) {
        await hub.isOnlyIn(needed, 'member1')
        await hub.mergePatch(needed, { data: { key: 'changed' } })
        await looksLike(needed, { data: { key: 'changed' } }, 'member1')
      }
    })
  })

  describe('a dependency without a reference by name', () => {
    test('a Service that selects the pods follows, with its Ingress and its certificate', async () => {
      const workload = deployment('shop')
      const front = service('shop', { of: 'shop' })
      const certificate = secret('shop-certificate')
      const entry = ingress('shop', { to: front, tls: certificate })
      await hub.apply(front, certificate, entry)

      await hub.apply(policy('shop', { placement: only('member2'), propagateDeps: true }), workload)

      for (const follower of [front, entry, certificate]) await hub.isOnlyIn(follower, 'member2')
    })

    test('so it does when it is created after the workload was scheduled', async () => {
      const workload = deployment('late-shop')
      const front = service('late-shop', { of: 'late-shop' })
      const certificate = secret('late-shop-certificate')
      const entry = ingress('late-shop', { to: front, tls: certificate })
      await hub.apply(policy('late-shop', { placement: only('member3'), propagateDeps: true }), workload)
      await hub.isOnlyIn(workload, 'member3')

      for (const follower of [certificate, entry, front]) await hub.apply(follower)

      for (const follower of [front, entry, certificate]) await hub.isOnlyIn(follower, 'member3')
    })

    test('one that stops selecting the pods leaves', async () => {
      const workload = deployment('fickle')
      const front = service('fickle', { of: 'fickle' })
      await hub.apply(front, policy('fickle', { placement: only('member1'), propagateDeps: true }), workload)
      await hub.isOnlyIn(front, 'member1')

      await hub.mergePatch(front, { spec: { selector: { app: 'another' } } })

      // Karmada may query Lodestone before its cache has the new selector, and queries again after a change (docs/reference/configuration.md).
      let changes = 0
      const leaves = async () => {
        await hub.mergePatch(front, { metadata: { annotations: { change: `${++changes}` } } })
        return (await hub.membersWith(front)) === ''
      }
      await plane.eventually('the Service leaves', leaves, 120_000, 2_000)
    })
  })

  describe('a workload that is bound to data', () => {
    test('takes along what it needs, without a word of it in the policy', async () => {
      const needs = [configMap('bound-settings'), secret('bound-password')]
      const workload = deployment('bound', { needs })
      await hub.apply(source('bound-data', ['member2']), claim('bound', { data: 'bound-data' }), ...needs)

      const { stderr } = await hub.apply(policy('bound'), workload)

      expect(stderr).toMatch(/Warning: .*propagateDeps/)
      expect(await hub.read(policy('bound'))).toMatchObject({ spec: { propagateDeps: true } })
      await hub.isOnlyIn(workload, 'member2')
      for (const needed of needs) {
        await hub.isOnlyIn(needed, 'member2')
        expect(await hub.membersThatEverHad(needed)).toBe('member2')
      }
    })

    test('also when the claim comes last', async () => {
      const needed = configMap('claimed-late-settings')
      const workload = deployment('claimed-late', { needs: [needed] })
      await hub.apply(needed, policy('claimed-late'), workload)
      await hub.isOnlyIn(workload, 'member1,member2,member3')
      expect(await hub.membersWith(needed)).toBe('')

      await hub.apply(source('claimed-late-data', ['member3']), claim('claimed-late', { data: 'claimed-late-data' }))

      await hub.isOnlyIn(workload, 'member3')
      await hub.isOnlyIn(needed, 'member3')
    })

    test('moves with its data, and what it needs moves along', async () => {
      const needs = [configMap('nomad-settings'), secret('nomad-password')]
      const front = service('nomad', { of: 'nomad' })
      const workload = deployment('nomad', { needs })
      const data = source('nomad-data', ['member1'])
      await hub.apply(data, claim('nomad', { data: 'nomad-data' }), policy('nomad'), ...needs, front, workload)
      for (const one of [workload, ...needs, front]) await hub.isOnlyIn(one, 'member1')

      await hub.mergePatch(data, { spec: { locality: { clusterNames: ['member3'] } } })

      for (const one of [workload, ...needs, front]) await hub.isOnlyIn(one, 'member3')
    })

    test('stays alone where its policy says so', async () => {
      const needed = configMap('alone-settings')
      const workload = deployment('alone', { needs: [needed] })
      await hub.apply(source('alone-data', ['member2']), claim('alone', { data: 'alone-data' }), needed)

      await hub.apply(policy('alone', { propagateDeps: false }), workload)

      await hub.isOnlyIn(workload, 'member2')
      await anotherIsDistributed('after-alone')
      expect((await hub.read(policy('alone')))?.['spec']).not.toMatchObject({ propagateDeps: true })
      expect(await hub.membersThatEverHad(needed)).toBe('')
    })

    test('leaves nothing of Lodestone behind when claim, policy and workload are deleted', async () => {
      const inNamespace = { namespace: 'leaving' }
      const needs = [configMap('leaving-settings', inNamespace), secret('leaving-password', inNamespace)]
      const workload = deployment('leaving', { needs, ...inNamespace })
      const where = policy('leaving', inNamespace)
      const bound = claim('leaving', { data: 'leaving-data', ...inNamespace })
      await hub.kubectl(['create', 'namespace', 'leaving'])
      await hub.apply(source('leaving-data', ['member2']), bound, where, ...needs, workload)
      for (const one of [workload, ...needs]) await hub.isOnlyIn(one, 'member2')
      expect((await everythingIn('leaving')).filter(isMarked).length).toBeGreaterThan(1)

      await hub.delete(bound, where, workload)

      for (const one of [workload, ...needs]) await hub.isOnlyIn(one, '')
      for (const one of [bound, where, workload]) {
        await plane.eventually('it is gone', async () => (await hub.read(one)) === undefined)
      }
      for (const one of [workload, ...needs]) expect(await hub.membersThatEverHad(one)).toBe('member2')
      await plane.eventually('nothing is marked', async () => {
        expect((await everythingIn('leaving')).filter(isMarked)).toEqual([])
        return true
      })
    })
  })

  describe('one dependency and', () => {
    test('two workloads: it is where either is, and leaves with the last', async () => {
      const shared = configMap('shared')
      const [one, two] = [deployment('sharing-1', { needs: [shared] }), deployment('sharing-2', { needs: [shared] })]
      await hub.apply(
        shared,
        policy('sharing-1', { placement: only('member1'), propagateDeps: true }),
        policy('sharing-2', { placement: only('member2'), propagateDeps: true }),
        one,
        two,
      )
      await hub.isOnlyIn(shared, 'member1,member2')

      await hub.delete(one)
      await hub.isOnlyIn(shared, 'member2')

      await hub.delete(two)
      await hub.isOnlyIn(shared, '')
      expect((await hub.bindingOf(shared))?.spec.requiredBy ?? []).toEqual([])
    })

    test('a policy of its own: it is where either says', async () => {
      const needed = configMap('independent')
      const workload = deployment('leaning', { needs: [needed] })
      const own = policy('independent', { workload: needed, placement: only('member3') })
      await hub.apply(needed, own, policy('leaning', { placement: only('member1'), propagateDeps: true }))
      await hub.isOnlyIn(needed, 'member3')

      await hub.apply(workload)
      await hub.isOnlyIn(needed, 'member1,member3')

      await hub.delete(workload)
      await hub.isOnlyIn(needed, 'member3')
    })

    test('a policy of its own that comes later', async () => {
      const needed = configMap('emancipated')
      const workload = deployment('patron', { needs: [needed] })
      await hub.apply(needed, policy('patron', { placement: only('member1'), propagateDeps: true }), workload)
      await hub.isOnlyIn(needed, 'member1')

      await hub.apply(policy('emancipated', { workload: needed, placement: only('member2') }))

      await hub.isOnlyIn(needed, 'member1,member2')
    })

    test('its successor of the same name: the new object arrives', async () => {
      const needed = configMap('phoenix')
      const workload = deployment('ashes', { needs: [needed] })
      await hub.apply(needed, policy('ashes', { placement: only('member1'), propagateDeps: true }), workload)
      await hub.isOnlyIn(needed, 'member1')
      const before = await hub.uidOf(needed)

      await hub.delete(needed)
      await hub.isOnlyIn(needed, '')
      await hub.executeDeletions()
      await hub.apply({ ...needed, data: { key: 'reborn' } })

      await hub.isOnlyIn(needed, 'member1')
      const after = await hub.uidOf(needed)
      expect(after).not.toBe(before)
      await plane.eventually('the new object is there, and owns the binding', async () => {
        expect(await hub.manifestIn('member1', needed)).toMatchObject({ data: { key: 'reborn' } })
        expect((await hub.bindingOf(needed))?.metadata.ownerReferences).toMatchObject([{ uid: after }])
        return true
      })
    })

    test('a successor at once: it is no less there', async () => {
      const needed = configMap('twin')
      const workload = deployment('twins', { needs: [needed] })
      await hub.apply(needed, policy('twins', { placement: only('member1'), propagateDeps: true }), workload)
      await hub.isOnlyIn(needed, 'member1')

      await hub.kubectl(['replace', '--force', '-f', '-'], JSON.stringify({ ...needed, data: { key: 'second' } }))

      await plane.eventually(
        'the second is in member1',
        async () => {
          await hub.executeDeletions()
          const uid = await hub.uidOf(needed)
          expect((await hub.bindingOf(needed))?.metadata.ownerReferences).toMatchObject([{ uid }])
          expect(await hub.manifestIn('member1', needed)).toMatchObject({ data: { key: 'second' } })
          return true
        },
        60_000,
      )
    })
  })

  describe('workloads that disagree about a dependency that they share', () => {
    interface Terms {
      conflictResolution: 'Abort' | 'Overwrite'
      preserveResourcesOnDeletion: boolean
    }
    const keep: Terms = { conflictResolution: 'Overwrite', preserveResourcesOnDeletion: true }
    const drop: Terms = { conflictResolution: 'Abort', preserveResourcesOnDeletion: false }
    const aboutResolution = /ConflictResolution/i
    const aboutPreservation = /PreserveResourcesOnDeletion/i
    const cases = [
      { about: 'both', one: keep, other: drop, want: keep, says: [aboutResolution, aboutPreservation], not: [] },
      {
        about: 'conflicts only',
        one: { ...drop, conflictResolution: 'Overwrite' as const },
        other: drop,
        want: { ...drop, conflictResolution: 'Overwrite' },
        says: [aboutResolution],
        not: [aboutPreservation],
      },
      {
        about: 'preservation only',
        one: keep,
        other: { ...keep, preserveResourcesOnDeletion: false },
        want: keep,
        says: [aboutPreservation],
        not: [aboutResolution],
      },
    ]

    test.each(cases)('about $about: the careful one wins, and an Event says so', async (given) => {
      const { about, one, other, want, says, not } = given
      const { shared } = await disagree(about, one, other)

      await attachedOn(shared, want)
      const event = await plane.eventually('an Event says so', () => conflictEvent(shared))
      expect(event['type']).toBe('Warning')
      for (const words of says) expect(event['message']).toMatch(words)
      for (const words of not) expect(event['message']).not.toMatch(words)
    })

    test('the later agreement counts', async () => {
      const { shared, second } = await disagree('for a while', keep, drop)
      await attachedOn(shared, keep)

      await hub.mergePatch(second, { spec: { ...keep } })
      await plane.eventually('the second follows its policy', async () => {
        const { spec } = (await hub.bindingOf({ ...deployment(second.metadata.name) })) as BindingObject
        return spec.conflictResolution === 'Overwrite'
      })
      await attachedOn(shared, keep)

      for (const name of [second.metadata.name, second.metadata.name.replace('second', 'first')]) {
        await hub.mergePatch(policy(name), { spec: { ...drop } })
      }
      await attachedOn(shared, drop)
    })

    test('without its policy a workload still counts; when it is deleted the other decides', async () => {
      const { shared, second } = await disagree('no more', drop, keep)
      await attachedOn(shared, keep)

      await hub.delete(second)
      await plane.eventually('the policy is gone', async () => (await hub.read(second)) === undefined)
      await anotherIsDistributed('after-policy')
      await attachedOn(shared, keep)

      await hub.delete(deployment(second.metadata.name))
      await attachedOn(shared, drop)
    })

    /** Two Deployments with a ConfigMap in common, whose policies say this and that. */
    async function disagree(about: string, one: Terms, other: Terms) {
      const stem = about.replaceAll(' ', '-')
      const shared = configMap(`${stem}-shared`)
      const names = [`${stem}-first`, `${stem}-second`] as const
      const [first, second] = [
        policy(names[0], { placement: only('member1'), propagateDeps: true, ...one }),
        policy(names[1], { placement: only('member1'), propagateDeps: true, ...other }),
      ]
      await hub.apply(shared, first, second, ...names.map((name) => deployment(name, { needs: [shared] })))
      await plane.eventually('both require it', async () => {
        const required = (await hub.bindingOf(shared))?.spec.requiredBy ?? []
        return required.length === 2
      })
      return { shared, first, second }
    }

    async function attachedOn(shared: KubeObject, terms: object): Promise<void> {
      await plane.eventually(`it is attached on ${JSON.stringify(terms)}`, async () => {
        expect((await hub.bindingOf(shared))?.spec).toMatchObject(terms)
        return true
      })
    }

    async function conflictEvent(shared: KubeObject): Promise<KubeObject | undefined> {
      const name = `${shared.metadata.name}-configmap`
      const events = (await plane.listJson('events', 'default')) as EventObject[]
      return events.find(
        ({ reason, involvedObject }) => reason === 'DependencyPolicyConflict' && involvedObject.name === name,
      )
    }
  })

  describe('a workload without a namespace', () => {
    test('takes its Secret along, which Karmada by itself does not do', async () => {
      const password = secret('disk-password')
      const disk = persistentVolume('disk', { needs: password })
      const where = (member: string) => clusterPolicy('disk', disk, { placement: only(member), propagateDeps: true })

      await hub.apply(password, where('member1'), disk)
      await hub.isOnlyIn(disk, 'member1')
      await hub.isOnlyIn(password, 'member1')

      await hub.apply(where('member3'))
      await hub.isOnlyIn(password, 'member3')

      await hub.kubectl(['delete', 'persistentvolume', 'disk', '--wait=false'])
      await hub.isOnlyIn(password, '')
    })

    test('takes it along when its policy says so later, unlike Karmada', async () => {
      const password = secret('late-password')
      const disk = persistentVolume('late-disk', { needs: password })
      const where = (terms: object) => clusterPolicy('late-disk', disk, { placement: only('member1'), ...terms })
      await hub.apply(password, where({}), disk)
      await hub.isOnlyIn(disk, 'member1')

      await hub.apply(where({ propagateDeps: true }))
      await hub.isOnlyIn(password, 'member1')

      await hub.apply(where({}))
      await hub.isOnlyIn(password, '')
      await hub.isOnlyIn(disk, 'member1')
    })

    test('shares it with one that has a namespace, and each may go by itself', async () => {
      const password = secret('common-password')
      const disk = persistentVolume('common-disk', { needs: password })
      const workload = deployment('common', { needs: [password] })
      const where = policy('common', { placement: only('member2'), propagateDeps: true })
      await hub.apply(password, clusterPolicy('common-disk', disk, { placement: only('member1'), propagateDeps: true }))
      await hub.apply(disk, where, workload)
      await hub.isOnlyIn(password, 'member1,member2')

      await hub.mergePatch(password, { data: { key: btoa('changed') } })
      for (const member of ['member1', 'member2']) {
        await looksLike(password, { data: { key: btoa('changed') } }, member)
      }

      await hub.apply(policy('common', { placement: only('member3'), propagateDeps: true }))
      await hub.isOnlyIn(password, 'member1,member3')

      await hub.delete(workload)
      await plane.eventually('its binding is gone', async () => (await hub.bindingOf(workload)) === undefined)
      await hub.isOnlyIn(password, 'member1')

      await hub.delete(disk)
      await plane.eventually('its binding is gone', async () => (await hub.bindingOf(disk)) === undefined)
      await hub.isOnlyIn(password, '')
    })

    test('borrows a Secret that a Deployment has already, and each may go by itself', async () => {
      const password = secret('lent-password')
      const disk = persistentVolume('lent-disk', { needs: password })
      const workload = deployment('lent', { needs: [password] })
      await hub.apply(password, policy('lent', { placement: only('member2'), propagateDeps: true }), workload)
      await hub.isOnlyIn(password, 'member2')
      await hub.apply(clusterPolicy('lent-disk', disk, { placement: only('member1'), propagateDeps: true }), disk)
      await hub.isOnlyIn(password, 'member1,member2')

      await hub.apply(policy('lent', { placement: only('member3'), propagateDeps: true }))
      await hub.isOnlyIn(password, 'member1,member3')
      await hub.delete(workload)

      await hub.isOnlyIn(password, 'member1')
      await plane.eventually('its binding is gone', async () => (await hub.bindingOf(workload)) === undefined)
    })
  })

  describe('a graceful eviction', () => {
    const oneOfTwo = {
      clusterAffinity: { clusterNames: ['member1', 'member2'] },
      spreadConstraints: [{ spreadByField: 'cluster', minGroups: 1, maxGroups: 1 }],
    }

    test('of a workload without a namespace leaves its Secret until it ends', async () => {
      const password = secret('evicted-password')
      const disk = persistentVolume('evicted-disk', { needs: password })
      await hub.apply(password, clusterPolicy('evicted-disk', disk, { placement: oneOfTwo, propagateDeps: true }), disk)
      await hub.isOnlyIn(password, 'member1')

      await evict(disk)

      await hub.isOnlyIn(password, 'member1,member2')
      await endEviction(disk)
      await hub.isOnlyIn(password, 'member2')
    })

    test('of a Deployment leaves what it needs until it ends, unlike Karmada', async () => {
      const needs = [configMap('evicted-settings'), secret('evicted-key')]
      const workload = deployment('evicted', { needs })
      await hub.apply(...needs, policy('evicted', { placement: oneOfTwo, propagateDeps: true }), workload)
      for (const needed of needs) await hub.isOnlyIn(needed, 'member1')

      await evict(workload)

      const meanwhile = distribution === 'builtin' ? 'member1,member2' : 'member2'
      for (const needed of needs) await hub.isOnlyIn(needed, meanwhile)
      await endEviction(workload)
      for (const needed of needs) await hub.isOnlyIn(needed, 'member2')
    })

    // As Karmada's taint manager writes it. The scheduler chooses another cluster.
    async function evict(workload: KubeObject): Promise<void> {
      const task = {
        fromCluster: 'member1',
        purgeMode: 'Gracefully',
        reason: 'TaintUntolerated',
        producer: 'TaintManager',
      }
      await changeBinding(workload, { clusters: null, gracefulEvictionTasks: [task] })
      await hub.isOnlyIn(workload, 'member1,member2')
    }

    async function endEviction(workload: KubeObject): Promise<void> {
      await changeBinding(workload, { gracefulEvictionTasks: null })
      await hub.isOnlyIn(workload, 'member2')
    }

    async function changeBinding(workload: KubeObject, spec: object): Promise<void> {
      const binding = (await hub.bindingOf(workload)) as KubeObject
      await hub.mergePatch(binding, { spec })
    }
  })

  test.each([
    { of: 'that Lodestone places', name: 'idle', isClaimed: true, isKept: true },
    // Lodestone does not change what Karmada does with workloads that need no data.
    { of: 'without a claim of data', name: 'plain', isClaimed: false, isKept: distribution === 'builtin' },
  ])('a Deployment $of that is scaled to zero keeps its disk: $isKept', async ({ name, isClaimed, isKept }) => {
    const disk = persistentVolumeClaim(`${name}-disk`)
    const settings = configMap(`${name}-settings`)
    const workload = deployment(name, { needs: [disk, settings] })
    const placement = {
      clusterAffinity: { clusterNames: ['member1', 'member2'] },
      replicaScheduling: { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Weighted' },
    }
    if (isClaimed)
      await hub.apply(source(`${name}-data`, ['member1', 'member2']), claim(name, { data: `${name}-data` }))
    await hub.apply(
      disk,
      settings,
      policy(name, { placement, ...(isClaimed ? {} : { propagateDeps: true }) }),
      withRequests(workload),
    )
    await hub.isOnlyIn(disk, 'member1,member2')
    const before = await worksOf(disk)

    await hub.mergePatch(workload, { spec: { replicas: 0 } })
    await hub.isOnlyIn(workload, '')
    // Another dependency leaves, so its distributor has seen the workload without clusters.
    await hub.isOnlyIn(settings, '')
    await hub.isOnlyIn(disk, isKept ? 'member1,member2' : '')
    await hub.executeDeletions()
    await hub.mergePatch(workload, { spec: { replicas: 2 } })
    await hub.isOnlyIn(workload, 'member1,member2')
    await hub.isOnlyIn(disk, 'member1,member2')

    const after = await worksOf(disk)
    expect([...before].filter((uid) => after.has(uid))).toHaveLength(isKept ? 2 : 0)

    // The uids of the Works that bring an object to members.
    async function worksOf({ kind, metadata }: KubeObject): Promise<Set<unknown>> {
      const works = (await plane.listJson('works.work.karmada.io')) as WorkObject[]
      const ofObject = works.filter(({ spec }) =>
        spec.workload.manifests.some((one) => one.kind === kind && one.metadata.name === metadata.name),
      )
      return new Set(ofObject.map((work) => work.metadata['uid']))
    }
  })

  describe('restarts', () => {
    test('of Lodestone and of Karmada change nothing', async () => {
      const needs = [configMap('steady-settings'), secret('steady-password')]
      const front = service('steady', { of: 'steady' })
      const workload = deployment('steady', { needs })
      await hub.apply(...needs, front, policy('steady', { placement: only('member1'), propagateDeps: true }), workload)
      for (const one of [...needs, front]) await hub.isOnlyIn(one, 'member1')
      await anotherIsDistributed('before-restarts')
      const attached = [...(await attachedBindings()).keys()]
      // The first update of a binding by Karmada 1.16 adds a field.
      await plane.restart('karmada-controller-manager')
      await anotherIsDistributed('between-restarts')
      const before = await attachedBindings()

      await lodestone.restart()
      await plane.restart('karmada-controller-manager')
      await anotherIsDistributed('after-restarts')

      const after = await attachedBindings()
      expect(attached.length).toBeGreaterThan(2)
      for (const name of attached) expect(after.get(name)).toEqual(before.get(name))
    })

    test('a dependency that changed while Lodestone was away is made good', async () => {
      const needed = configMap('unwatched-settings')
      const workload = deployment('unwatched', { needs: [needed] })
      await hub.apply(needed, policy('unwatched', { placement: only('member1'), propagateDeps: true }), workload)
      await hub.isOnlyIn(needed, 'member1')
      await lodestone.stop()

      await hub.mergePatch(needed, { data: { key: 'unwatched' } })
      await lodestone.restart()

      await looksLike(needed, { data: { key: 'unwatched' } }, 'member1')
    })
  })

  /** Waits until the distributor has handled a new workload: it has then also handled every earlier change. */
  async function anotherIsDistributed(name: string): Promise<void> {
    const needed = configMap(`${name}-settings`)
    const where = policy(name, { placement: only('member1'), propagateDeps: true })
    await hub.apply(needed, where, deployment(name, { needs: [needed] }))
    await hub.isOnlyIn(needed, 'member1')
  }

  async function looksLike(object: KubeObject, change: object, member: string): Promise<void> {
    await plane.eventually(`the change arrives in ${member}`, async () => {
      expect(await hub.manifestIn(member, object)).toMatchObject(change)
      return true
    })
  }

  async function attachedTo(needed: KubeObject, referrer: string): Promise<BindingObject | undefined> {
    const found = await hub.bindingOf(needed)
    const required = found?.spec.requiredBy ?? []
    return required.some(({ name, clusters }) => name === referrer && clusters !== undefined) ? found : undefined
  }

  /** Returns the attached bindings as the distributor wrote them: without the API server's bookkeeping and the members' status. */
  async function attachedBindings(): Promise<Map<string, object>> {
    const attached = ((await plane.listJson(bindings, 'default')) as BindingObject[]).filter(({ metadata }) =>
      Object.keys(metadata.labels ?? {}).some((key) => key.startsWith(label)),
    )
    return new Map(attached.map((binding) => [binding.metadata.name, withoutBookkeeping(binding)]))
  }

  /** Lists all objects of a namespace except Events, and the Works that bring them to members. */
  async function everythingIn(namespace: string): Promise<KubeObject[]> {
    const { stdout } = await hub.kubectl(['api-resources', '--namespaced', '--verbs=list', '--output=name'])
    const kinds = stdout.split('\n').filter((kind) => kind !== '' && !kind.startsWith('events'))
    const listed = await hub.kubectl(['get', kinds.join(), '--namespace', namespace, '--output=json'])
    const works = (await plane.listJson('works.work.karmada.io')) as WorkObject[]
    const ofNamespace = works.filter(({ metadata, spec }) => {
      const gone = metadata['deletionTimestamp'] !== undefined
      return !gone && spec.workload.manifests.some((one) => one.metadata.namespace === namespace)
    })
    return [...(JSON.parse(listed.stdout).items as KubeObject[]), ...ofNamespace]
  }
})

const idLabel = 'resourcebinding.karmada.io/permanent-id'
const annotated = { metadata: { annotations: { changed: 'true' } } }

interface EventObject extends KubeObject {
  reason: string
  involvedObject: { name: string }
}

interface WorkObject extends KubeObject {
  spec: { workload: { manifests: KubeObject[] } }
}

/** Without requests, Karmada's scheduler copies a workload without replicas to all clusters. */
function withRequests(workload: SpecObject): SpecObject {
  const copy = structuredClone(workload) as SpecObject & { spec: { template: { spec: { containers: object[] } } } }
  for (const container of copy.spec.template.spec.containers)
    Object.assign(container, { resources: { requests: { cpu: '10m' } } })
  return copy
}

/** A status write makes a new version of an object, and a distributor that starts may send that version again. */
function withoutBookkeeping({ metadata, spec }: BindingObject): object {
  const { managedFields: _fields, resourceVersion: _version, generation, ...kept } = metadata
  const resource = spec['resource'] as { kind: string; resourceVersion?: string }
  if (['ConfigMap', 'Secret', 'ServiceAccount'].includes(resource.kind)) {
    return { metadata: { ...kept, generation }, spec }
  }
  const { resourceVersion: _seen, ...object } = resource
  return { metadata: kept, spec: { ...spec, resource: object } }
}

function isMarked(object: KubeObject): boolean {
  return JSON.stringify(object).includes('lodestone.dev')
}
