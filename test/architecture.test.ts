/** The structure of the project, as far as a test can see it: what is where, how it is called, and what is never written. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { apiVersionOf, type K8sObject, type ResourceType } from '../src/api/meta.ts'
import { clusterRoles } from '../src/app/rbac.ts'
import { gateRoles, volumeRoles } from '../src/app/volume-roles.ts'
import { loadCommands } from '../src/cli/index.ts'
import { cachedKinds, kindsFor, placementKinds } from '../src/store/cached-kinds.ts'
import type { AnyCachedKind } from '../src/store/kinds.ts'
import { webhooks } from '../src/webhooks/index.ts'

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

const isTest = ({ path }: SourceFile) => /\.(test|case)\.ts$/.test(path)
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
    expect(resources.length > 1 ? ['workload'] : resources.map(({ kind }) => kebab(kind))).toContain(name)
  })

  test('is in the file of its kind; a cluster-scoped kind shares the file of its twin', () => {
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
  const file = source.find(({ path }) => path === join('src', 'cli', `${name}.ts`))
  expect(file?.text).toContain(`export const ${name}: Command`)
})

describe('files', () => {
  test('are called in kebab-case, tests after what they test', () => {
    expect(everything.map(({ path }) => basename(path)).filter((name) => !NAME.test(name))).toEqual([])
  })

  test('have at most 250 lines, tests excepted', () => {
    const long = source.filter(({ text }) => text.trimEnd().split('\n').length > 250)
    expect(long.map(({ path }) => path)).toEqual([])
  })

  test('open with a sentence that says what they are for', () => {
    const silent = source.filter(({ text }) => !OPENING.test(text))
    expect(silent.map(({ path }) => path)).toEqual([])
  })
})

const NAME = /^[a-z0-9]+(-[a-z0-9]+)*(\.(e2e|full))?(\.(test|case))?\.ts$/
/** A doc comment first, and in it a sentence. */
const OPENING = /^\/\*\*[\s*]+[A-Z`"](?:(?!\*\/)[\s\S])*[.!?]/

describe('what is never written', () => {
  test('time and chance in decisions: they are given everything, the time included', () => {
    const pure = source.filter(({ path }) => /^src.(core|api)./.test(path))
    expect(pure.length).toBeGreaterThan(20)
    expect(places(pure, /Date\.now|new Date\(\s*\)|Math\.random|performance\.now/)).toEqual([])
  })

  test('mocks of our own modules: fakes are real implementations', () => {
    expect(places(everything, /\bvi\.(mock|doMock)\(/)).toEqual([])
  })

  test('notes to ourselves', () => {
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

const rulesOf = (objects: K8sObject[]) => objects.flatMap((object) => ('rules' in object ? (object as Role).rules : []))
const watchedBy = (rules: Role['rules']) =>
  rules
    .filter(({ verbs }) => verbs.includes('watch'))
    .flatMap(({ apiGroups, resources }) =>
      apiGroups.flatMap((group) => resources.map((resource) => `${resource}.${group}`)),
    )
    .sort()
const namesOf = (kinds: readonly AnyCachedKind[]) => kinds.map(({ type }) => `${type.plural}.${type.group}`).sort()

describe('the ClusterRole', () => {
  const [role] = clusterRoles() as Role[]
  const read = (role?.rules ?? []).filter(({ verbs }) => verbs.includes('watch'))

  test('lets exactly the kinds be read that are held on a hub', () => {
    expect(watchedBy(role?.rules ?? [])).toEqual(namesOf(kindsFor({ dependencies: true, movesData: false })))
    for (const { verbs } of read) expect(['get,list,watch', 'list,watch']).toContain(verbs.join())
  })

  test('lets no pod be written and no node be read: on a hub nobody runs any', () => {
    const rules = (role?.rules ?? []).filter(({ apiGroups }) => apiGroups.includes(''))
    const ofPods = rules.filter(({ resources }) => resources.some((resource) => /^pods/.test(resource)))
    expect(ofPods.map(({ verbs }) => verbs)).toEqual([['get', 'list', 'watch']])
    expect(rules.flatMap(({ resources }) => resources)).not.toContain('nodes')
  })

  test('and those of volumes together let every kind be read that is held where data is moved', () => {
    const rules = rulesOf([...clusterRoles(), ...gateRoles(), ...volumeRoles()])
    expect(watchedBy(rules)).toEqual(namesOf(cachedKinds))
    expect(namesOf(kindsFor({ dependencies: true, movesData: true }))).toEqual(namesOf(cachedKinds))
    const without = namesOf(kindsFor({ dependencies: false, movesData: true }))
    expect(without).toEqual(expect.arrayContaining(['nodes.', 'secrets.', 'persistentvolumeclaims.', 'pods.']))
    expect(without).not.toContain('configmaps.')
  })

  test('lets no Secret be read by itself', () => {
    const secrets = (role?.rules ?? []).filter(({ resources }) => resources.includes('secrets'))
    expect(secrets.map(({ verbs }) => verbs)).toEqual([['list', 'watch']])
  })

  test('lets nothing be written but the registration of webhooks, our own kinds, bindings, policies and Events', () => {
    const written = (role?.rules ?? []).filter((rule) => !read.includes(rule))
    expect(new Set(written.flatMap(({ apiGroups }) => apiGroups))).toEqual(
      new Set([
        'admissionregistration.k8s.io',
        'datadependency.volcano.sh',
        'work.karmada.io',
        'policy.karmada.io',
        'config.karmada.io',
        '',
      ]),
    )
    expect(new Set(written.flatMap(({ verbs }) => verbs))).toEqual(
      new Set(['create', 'get', 'update', 'patch', 'delete']),
    )
    expect(JSON.stringify(role)).not.toContain('*')
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

test('the least spec of every kind that decides a placement stands in this file', () => {
  expect(placementKinds.map(({ type }) => type.kind).sort()).toEqual(Object.keys(LEAST_SPECS).sort())
})
