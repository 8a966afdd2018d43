/** The structure of the project, as far as a test can see it: what is where, how it is called, and what is never written. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { apiVersionOf, type K8sObject, type ResourceType } from '../src/api/meta.ts'
import { completeConfig } from '../src/app/config/config.ts'
import { podRolesFor, rolesFor } from '../src/app/roles/granted.ts'
import { userRoles } from '../src/app/roles/user-roles.ts'
import { loadCommands } from '../src/cli/index.ts'
import { SHIPPED_KINDS } from '../src/core/workload-kinds/kinds.ts'
import type { AnyCachedKind } from '../src/store/any-kind.ts'
import { cachedKinds, kindsFor, placementKinds } from '../src/store/kinds/cached-kinds.ts'
import { allWebhooks } from '../src/webhooks/index.ts'

const webhooks = allWebhooks(SHIPPED_KINDS)

const commands = await loadCommands()

interface SourceFile {
  path: string
  text: string
}

/** Every TypeScript file below these folders, this file excepted: it has to name what it forbids. */
function filesBelow(...folders: string[]): SourceFile[] {
  return folders
    .flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => path !== join('test', 'architecture.test.ts'))
    .sort()
    .map((path) => ({ path, text: readFileSync(path, 'utf8') }))
}

const isTest = ({ path }: SourceFile) => /\.(test|suite|fake)\.ts$/.test(path)
const source = filesBelow('src').filter((file) => !isTest(file))
const everything = filesBelow('src', 'test', 'bench')

/** `file:line` of every place where a pattern is found. */
function places(files: SourceFile[], pattern: RegExp): string[] {
  return files.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, i) => (pattern.test(line) ? [`${path}:${i + 1}: ${line.trim()}`] : [])),
  )
}

function kebab(kind: string): string {
  return kind.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase()
}

describe.each(webhooks)('the webhook $name', ({ name, resources }) => {
  test('is called after its kind, or after what several have in common', () => {
    const shared: Record<string, string[]> = {
      '*': ['unknown-workload'],
      Pod: ['pod', 'annotated-pod', 'mover-pod'],
      DataSourceClaim: ['data-source-claim', 'claim-finalizer'],
    }
    const names = resources.flatMap(({ kind }) => shared[kind] ?? kebab(kind))
    expect(resources.length > 1 ? ['workload'] : names).toContain(name)
  })

  test('is in the file of its kind; a cluster-scoped kind shares the namespaced one', () => {
    const files = [name, name.replace(/^cluster-/, '')].map((stem) => join('src', 'webhooks', `${stem}.ts`))
    expect(files.filter((file) => existsSync(file))).not.toEqual([])
  })

  test('has a folder of examples', () => {
    expect(readdirSync(join('webhooks', name, 'examples'))).not.toEqual([])
  })
})

test('every folder of examples belongs to a webhook', () => {
  const folders = readdirSync('webhooks', { withFileTypes: true }).filter((entry) => entry.isDirectory())
  expect(folders.map((entry) => entry.name).sort()).toEqual(webhooks.map(({ name }) => name).sort())
})

test.each(commands)('the command $name is in its file', ({ name }) => {
  const places = [join('src', 'cli', `${name}.ts`), join('src', 'cli', name, `${name}.ts`)]
  const file = source.find(({ path }) => places.includes(path))
  const constant = name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
  expect(file?.text).toContain(`export const ${constant}: Command`)
})

describe('files', () => {
  test('are called in kebab-case, tests after what they test', () => {
    expect(everything.map(({ path }) => basename(path)).filter((name) => !NAME.test(name))).toEqual([])
  })

  test('open with a sentence that says what they are for', () => {
    const silent = source.filter(({ text }) => !OPENING.test(text))
    expect(silent.map(({ path }) => path)).toEqual([])
  })
})

const NAME = /^[a-z0-9]+(-[a-z0-9]+)*(\.(e2e|full))?(\.(test|suite|fake))?\.ts$/
/** A value called a message that is searched, matched, or compared with a constant or a literal that is not empty. */
const MESSAGE_COMPARED =
  /[mM]essage\b[)?]*\.(includes|startsWith|endsWith|indexOf|match|matchAll|search)\(|(?<!typeof [\w.?]*)[mM]essage\b *[!=]== *(['"`](?!['"`])|[A-Z])|\.test\([^()]*[mM]essage\b/
/** A literal of several words, whatever it is compared with: codes are one word. */
const PHRASE_COMPARED =
  /([!=]== *|\bcase |\.(includes|startsWith|endsWith|indexOf|match|matchAll|search)\( *)(['"`/])[^'"`/]*[a-z,:] [A-Za-z][^'"`/]*\3/
/** A doc comment first, and in it a sentence. */
const OPENING = /^\/\*\*[\s*]+[A-Z`"](?:(?!\*\/)[\s\S])*[.!?]/

/** Of the ground, the clock and what watches or makes folders. */
const IMPURE = /base.(time.(clock|wall-clock|backoff-timer)|folder-watch|make-folder)\.ts$/

/** Files of core that decide: they export a function. */
const deciding = source.filter(({ path, text }) => /^src.core./.test(path) && /^export (async )?function /m.test(text))

test('every file of core that decides has cases', () => {
  const tested = new Set(everything.filter((file) => isTest(file)).flatMap((file) => importedBy(file)))
  expect(deciding.length).toBeGreaterThan(80)
  const hasCases = (path: string) => tested.has(path) || existsSync(path.replace(/\.ts$/, '.test.ts'))
  expect(deciding.map(({ path }) => path).filter((path) => !hasCases(path))).toEqual([])
})

function importedBy({ path, text }: SourceFile): string[] {
  return [...text.matchAll(/ from '(\.[^']+)'/g)].map(([, target = '']) => join(path, '..', target))
}

test('what-if decides as admission and the loop do, and has no decision of its own', () => {
  const asking = source.filter(({ path }) => /^src.(core|queries|cli).what-if./.test(path))
  expect(asking.length).toBeGreaterThan(10)
  const importing = (pattern: RegExp) =>
    asking.filter((file) => importedBy(file).some((path) => pattern.test(path))).map(({ path }) => basename(path))
  expect(importing(/resource-binding.decide\.ts$/)).toEqual(['settle.ts'])
  expect(
    importing(/resource-binding.(rules|base|write|narrow-to-fit|decide-placement)|placement.(narrow|prefer)/),
  ).toEqual([])
})

describe('no file contains', () => {
  test('time and chance in decisions: they are given everything, the time included', () => {
    const pure = source.filter(({ path }) => /^src.(core|api|base|s3)./.test(path) && !IMPURE.test(path))
    expect(pure.length).toBeGreaterThan(20)
    expect(places(pure, /Date\.now|new Date\(\s*\)|Math\.random|performance\.now/)).toEqual([])
  })

  test('mocks of our own modules: fakes are real implementations', () => {
    expect(places(everything, /\bvi\.(mock|doMock)\(/)).toEqual([])
  })

  test('vi.waitFor and vi.waitUntil: they give up after a second, unlike expect.poll', () => {
    expect(places(everything, /\bvi\.wait(For|Until)\(/)).toEqual([])
  })

  test('a temporary folder that stays: each run of the tests would leave another one', () => {
    const inTests = everything.filter((file) => isTest(file) && !file.path.startsWith(join('test', 'e2e')))
    const makers = inTests.filter(({ text }) => /\bmkdtemp/.test(text))
    expect(makers.filter(({ text }) => !/\brm(Sync)?\(/.test(text)).map(({ path }) => path)).toEqual([])
  })

  test('decisions by the text of a message: a code decides, and the message says it', () => {
    // VCK's status has no code beside its message `success`, some Iceberg catalogs have none for a missing table, and S3 has none for SSE-C.
    // Amoro has none for an external catalog.
    // kube-apiserver names the webhook that rejected an object only in the message. Karmada's scheduler has one reason for most of its errors.
    // kube-apiserver answers 403 for a missing right and for a full ResourceQuota.
    const codeless = new Set([
      'src/core/placement/binding-state.ts',
      'src/core/volume-manager/codes.ts',
      'src/locality/answers/absence-message.ts',
      'src/mover/s3/s3-error.ts',
      'src/store/cluster/apply-roles.ts',
      'src/store/cluster/webhook-probe.ts',
    ])
    const files = source.filter(({ path }) => !codeless.has(path))
    expect([...places(files, MESSAGE_COMPARED), ...places(files, PHRASE_COMPARED)]).toEqual([])
  })

  test.each([
    { line: "if (what?.includes('in use by')) return", forbidden: true },
    { line: 'if (error.message.startsWith(prefix)) return', forbidden: true },
    { line: "if (status?.message === 'success') return", forbidden: true },
    { line: 'if (volume.message !== SUCCESS_MESSAGE) return', forbidden: true },
    { line: 'if (/no such/.test(error.message)) return', forbidden: true },
    { line: "case 'too large':", forbidden: true },
    { line: "if (typeof message === 'string') return", forbidden: false },
    { line: "if (message === '' || message === undefined) return", forbidden: false },
    { line: 'if (error.message !== reported) log.warn(error)', forbidden: false },
    { line: "if (text.includes('<Error>')) return", forbidden: false },
  ])('as in: $line (forbidden: $forbidden)', ({ line, forbidden }) => {
    expect(MESSAGE_COMPARED.test(line) || PHRASE_COMPARED.test(line)).toBe(forbidden)
  })

  test('writes beside plans: in loops, only apply.ts and Event recorders call the store', () => {
    const writers = places(
      source.filter(({ path }) => path.startsWith('src/reconcile/')),
      /\bstore\.(create|update|patch|delete)\(/,
    )
    expect([...new Set(writers.map((place) => place.split(':')[0]))]).toEqual([
      'src/reconcile/apply.ts',
      'src/reconcile/event-recorder.ts',
    ])
  })

  test('process.exit: src/cli/end-process.ts waits for slow readers', () => {
    // Signals and channels of tests and measurements end a process that prints nothing more.
    const exempt = ['src/cli/end-process.ts', 'test/e2e/processes.ts', 'bench/harness/catalog.ts']
    const found = places(everything, /\bprocess\.(exit|abort|reallyExit)\(/).filter(
      (place) => !exempt.some((path) => place.startsWith(path)),
    )
    expect(found).toEqual([expect.stringMatching(/^src\/main\.ts:\d+: if \(ending\.signal\.aborted/)])
  })

  test('its own reading of a binding: core/placement/binding-state.ts has it once', () => {
    const readers = source.filter(
      ({ path }) => !/binding-state\.ts$|^src.(api|store)./.test(path) || path === 'src/store/kinds/bindings.ts',
    )
    const own =
      /\.clusters\?\.length|clusters \?\? \[\]\)\.length|fromCluster \}\) => fromCluster|suspension\??\.scheduling [!=]==|replicas \?\? 0\) > 0/
    expect(places(readers, own)).toEqual([])
  })

  test('a recursive mkdir, which hangs below /proc: src/base/make-folder.ts', () => {
    const programs = source.filter(({ path }) => !path.endsWith('.fake.ts'))
    expect(places(programs, /\bmkdir(Sync)?\(.*recursive/)).toEqual([])
  })

  test('spreads of a literal: its members belong to the object itself', () => {
    expect(places(everything, /\.\.\.\{ *[^ }]/)).toEqual([])
  })

  test('TODO comments', () => {
    expect(places(everything, /\b(TODO|FIXME|XXX)\b/)).toEqual([])
  })

  test('tests that are left out, or leave out others', () => {
    // The one that skips says which runtime is missing on the machine, in the test's own line.
    const files = everything.filter(({ path }) => path !== 'test/e2e/peers/runtimes.ts')
    expect(places(files, /\.(only|skip)\(|\.(only|skip)\.each\b/)).toEqual([])
  })
})

interface Role extends K8sObject {
  rules: { apiGroups: string[]; resources: string[]; verbs: string[] }[]
}

/** The roles for users write what users write. */
const isOfLodestone = ({ metadata }: K8sObject) => !/^lodestone-(view|edit|admin)$/.test(metadata.name ?? '')
const rulesOf = (objects: K8sObject[]) => objects.flatMap((object) => ('rules' in object ? (object as Role).rules : []))
const watchedBy = (rules: Role['rules']) =>
  rules
    .filter(({ verbs }) => verbs.includes('watch'))
    .flatMap(({ apiGroups, resources }) =>
      apiGroups.flatMap((group) => resources.map((resource) => `${resource}.${group}`)),
    )
    .sort()
const namesOf = (kinds: readonly AnyCachedKind[]) => kinds.map(({ type }) => `${type.plural}.${type.group}`).sort()

describe('the ClusterRoles', () => {
  const ofPods = podRolesFor(undefined)
  const rulesOfAll = rulesOf([...rolesFor(undefined).filter(isOfLodestone), ...ofPods])
  const choices = [true, false].flatMap((dependencies) =>
    [true, false].map((movesData) => ({ dependencies, movesData })),
  )
  const rulesFor = ({ dependencies, movesData }: (typeof choices)[number]) =>
    rulesOf([
      ...rolesFor(
        completeConfig(
          { registration: { mode: 'service' }, dependencies: { distribution: dependencies ? 'karmada' : 'none' } },
          'test',
        ),
      ).filter(isOfLodestone),
      ...(movesData ? ofPods : []),
    ])
  const resourcesOf = (rules: Role['rules']) => rules.flatMap(({ resources }) => resources)

  test.each(choices)('let exactly the kinds be read that are cached with $dependencies and $movesData', (choice) => {
    const rules = rulesFor(choice)
    expect([...new Set(watchedBy(rules))]).toEqual(namesOf(kindsFor({ workloads: SHIPPED_KINDS, ...choice })))
    const read = rules.filter(({ verbs }) => verbs.includes('watch'))
    for (const { verbs } of read) expect(['get,list,watch', 'list,watch']).toContain(verbs.join())
  })

  test('let every cached kind be read where all is on', () => {
    expect(namesOf(kindsFor({ workloads: SHIPPED_KINDS, dependencies: true, movesData: true }))).toEqual(
      namesOf(cachedKinds),
    )
  })

  test('let Secrets be listed only where dependencies are distributed, and none be read', () => {
    for (const choice of choices) expect(resourcesOf(rulesFor(choice)).includes('secrets')).toBe(choice.dependencies)
    const secrets = rulesOfAll.filter(({ resources }) => resources.includes('secrets'))
    expect(secrets.map(({ verbs }) => verbs)).toEqual([['list', 'watch']])
  })

  test('allow no write of pods and no read of nodes on a hub: it has none', () => {
    const rules = rulesFor({ dependencies: true, movesData: false }).filter(({ apiGroups }) => apiGroups.includes(''))
    const aboutPods = rules.filter(({ resources }) => resources.some((resource) => /^pods/.test(resource)))
    expect(aboutPods.map(({ verbs }) => verbs)).toEqual([['get', 'list', 'watch']])
    expect(resourcesOf(rules)).not.toContain('nodes')
  })

  test('let registrations be read and updated by name, and none be created or deleted', () => {
    const rules = rulesOfAll.filter(({ resources }) => resources.some((one) => one.endsWith('webhookconfigurations')))
    expect(rules).toEqual([
      {
        apiGroups: ['admissionregistration.k8s.io'],
        resources: ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'],
        resourceNames: ['lodestone'],
        verbs: ['get', 'update'],
      },
      {
        apiGroups: ['config.karmada.io'],
        resources: ['resourceinterpreterwebhookconfigurations'],
        resourceNames: ['lodestone'],
        verbs: ['get', 'update'],
      },
    ])
  })

  test('let pods be patched by the role for gates only', () => {
    const patching = (objects: K8sObject[]) =>
      rulesOf(objects).some(({ resources, verbs }) => resources.includes('pods') && verbs.includes('patch'))
    const names = [...rolesFor(undefined), ...ofPods]
      .filter((one) => patching([one]))
      .map(({ metadata }) => metadata.name)
    expect(names).toEqual(['lodestone-gates'])
  })

  test('allow only writes of registrations, our kinds, bindings, policies and Events', () => {
    const rules = rulesFor({ dependencies: true, movesData: false })
    const written = rules.filter(({ verbs }) => verbs.some((verb) => !['get', 'list', 'watch'].includes(verb)))
    expect(new Set(written.flatMap(({ apiGroups }) => apiGroups))).toEqual(
      new Set([
        ...['admissionregistration.k8s.io', 'datadependency.volcano.sh', 'work.karmada.io', 'policy.karmada.io'],
        ...['config.karmada.io', ''],
      ]),
    )
    expect(JSON.stringify(rulesOfAll)).not.toContain('*')
  })
})

describe('the roles for users', () => {
  const roles = userRoles() as Role[]

  test('are added to the built-in roles, for claims and VolumeManagers without status', () => {
    expect(roles.map(({ metadata }) => [metadata.name, metadata.labels])).toEqual(
      ['view', 'edit', 'admin'].map((role) => [
        `lodestone-${role}`,
        { [`rbac.authorization.k8s.io/aggregate-to-${role}`]: 'true' },
      ]),
    )
    for (const { rules } of roles)
      expect(rules.flatMap(({ resources }) => resources)).toEqual(['datasourceclaims', 'volumemanagers'])
  })

  test('allow viewers no change', () => {
    const [view, ...others] = roles.map(({ rules }) => new Set(rules.flatMap(({ verbs }) => verbs)))
    expect(view).toEqual(new Set(['get', 'list', 'watch']))
    for (const verbs of others) expect([...verbs]).toEqual(expect.arrayContaining(['get', 'create', 'patch', 'delete']))
  })
})

/**
 * The least that the API server lets through: our kinds by our schema, Karmada's by its own. One odd object must not keep the others
 * from being cached.
 */
const LEAST_SPECS: Record<string, unknown> = {
  DataSourceClaim: {
    system: 's',
    dataSourceType: 't',
    dataSourceName: 'n',
    workload: { apiVersion: 'v1', kind: 'K', name: 'w' },
  },
  DataSource: { system: 's', type: 't', name: 'n' },
  Namespace: undefined,
  Cluster: {},
  ResourceBinding: { resource: { apiVersion: 'v1', kind: 'K', name: 'w' } },
  ClusterResourceBinding: { resource: { apiVersion: 'v1', kind: 'K', name: 'w' } },
  PropagationPolicy: { resourceSelectors: [{ apiVersion: 'v1', kind: 'K' }] },
  ClusterPropagationPolicy: { resourceSelectors: [{ apiVersion: 'v1', kind: 'K' }] },
}

/** An object with nothing but a name, and a spec where the API server asks for one. */
function leastOf({ kind, namespaced, ...type }: ResourceType): K8sObject {
  return {
    apiVersion: apiVersionOf(type),
    kind,
    metadata: { name: 'least', ...(namespaced && { namespace: 'default' }) },
    ...(LEAST_SPECS[kind] !== undefined && { spec: LEAST_SPECS[kind] }),
  }
}

describe.each(cachedKinds.map((kind) => ({ kind, name: `${kind.type.kind} of ${kind.type.group || 'v1'}` })))(
  'the cached kind $name',
  ({ kind }) => {
    test('keeps and indexes an object with no more than it must have', () => {
      const least = leastOf(kind.type)
      const kept = kind.keep(least as never)

      expect(kept).toMatchObject(least)
      for (const keysOf of Object.values(kind.indexes)) {
        const keys = keysOf(kept as never)
        expect(keys.every((key) => typeof key === 'string' && key !== '')).toBe(true)
      }
    })
  },
)

test('this file has the least spec of every kind that decides a placement', () => {
  expect(placementKinds.map(({ type }) => type.kind).sort()).toEqual(Object.keys(LEAST_SPECS).sort())
})
