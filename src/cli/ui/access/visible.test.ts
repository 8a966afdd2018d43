import { describe, expect, test } from 'vitest'
import { EMPTY_LISTS } from '../lists.fake.ts'
import type { ListName, Lists } from '../lists.ts'
import { viewerWith } from './viewer.fake.ts'
import { OWNER, ownerIn } from './viewer.ts'
import { visibleLists, visibleRows } from './visible.ts'

const CLAIMS = 'datasourceclaims.datadependency.volcano.sh'
const BINDINGS = 'resourcebindings.work.karmada.io'
const object = (kind: string, namespace: string | undefined, name = 'app') => ({
  kind,
  name,
  ...(namespace && { namespace }),
})

const lists = {
  ...EMPTY_LISTS,
  claims: [
    { namespace: 'sales', name: 'orders' },
    { namespace: 'demo', name: 'orders' },
  ],
  waiting: [
    { object: object('Deployment', 'sales') },
    { object: object('Deployment', undefined, 'everywhere') },
    { object: object('Pod', 'demo') },
    { object: object('VolumeManager', 'sales') },
  ],
  sources: [{ name: 'orders' }],
} as unknown as Lists

const isServed = () => true

/** The rows that a reader with these rights sees, the sentence about others, or the rejection. */
async function see(name: ListName, rights: string[], namespace?: string) {
  const found = await visibleRows(name, { lists, viewer: viewerWith(rights), isServed, namespace })
  return found.rejection ? found.rejection.message : { rows: found.rows, notice: found.notice }
}

describe('a reader sees', () => {
  test('all rows with the right to list the kind everywhere', async () => {
    expect(await see('claims', [`list ${CLAIMS}`])).toEqual({ rows: lists.claims, notice: undefined })
  })

  test('rows of the namespaces that it may list, and a notice about the others', async () => {
    expect(await see('claims', [`list ${CLAIMS} in demo`])).toEqual({
      rows: [lists.claims[1]],
      notice: `only rows of namespaces whose ${CLAIMS} you may list`,
    })
  })

  test('no rows and the same sentence with no right at all', async () => {
    expect(await see('claims', [])).toEqual({ rows: [], notice: expect.stringContaining('only rows of namespaces') })
  })

  test('each row that waits by the kind that tells of it', async () => {
    const rows = async (...rights: string[]) => {
      const found = await see('waiting', rights)
      return typeof found === 'string' ? found : found.rows.map((row) => lists.waiting.indexOf(row as never))
    }
    expect(await rows(`list ${BINDINGS} in sales`)).toEqual([0])
    expect(await rows('list clusterresourcebindings.work.karmada.io')).toEqual([1])
    expect(await rows('list pods in demo')).toEqual([2])
    expect(await rows('list volumemanagers.vck.intelai.org in sales')).toEqual([3])
    expect(await rows('list pods in sales')).toEqual([])
  })

  test('the one namespace that it names, or why not', async () => {
    expect(await see('claims', [`list ${CLAIMS} in demo`], 'demo')).toMatchObject({ rows: [lists.claims[1]] })
    expect(await see('claims', [`list ${CLAIMS} in demo`], 'sales')).toBe(
      `you may not list ${CLAIMS} in namespace sales; ask an administrator for this right`,
    )
  })

  test('why it does not see objects without a namespace', async () => {
    expect(await see('sources', [`list ${CLAIMS}`])).toBe(
      'you may not list datasources.datadependency.volcano.sh; ask an administrator for this right',
    )
  })
})

test('the pods that use a volume are named to readers who may list pods there', async () => {
  const replicas = [{ namespace: 'demo', volumeManager: 'v', podCount: 2, pods: ['demo/train', 'sales/report'] }]
  const given = { ...lists, replicas } as unknown as Lists
  const podsFor = async (...rights: string[]) => {
    const viewer = viewerWith(['list volumemanagers.vck.intelai.org', ...rights])
    const found = await visibleRows('replicas', { lists: given, viewer, isServed })
    return found.rejection ?? found.rows.map(({ podCount, pods }) => [podCount, ...pods])
  }
  expect(await podsFor()).toEqual([[2]])
  expect(await podsFor('list pods in demo')).toEqual([[2, 'demo/train']])
  expect(await podsFor('list pods')).toEqual([[2, 'demo/train', 'sales/report']])
})

test('the reader who started the command sees everything', async () => {
  expect(await visibleLists(['claims', 'waiting', 'sources'], { lists, viewer: OWNER, isServed })).toEqual(lists)
})

describe('the reader who started the command for one namespace', () => {
  const inDemo = ownerIn('demo', ({ plural }) => plural === 'datasources')
  const seen = async (name: ListName, namespace?: string) => {
    const found = await visibleRows(name, { lists, viewer: inDemo, isServed, namespace })
    return found.rejection ? found.rejection.message : { rows: found.rows, notice: found.notice }
  }

  test('sees its rows, without a sentence for each list', async () => {
    expect(await seen('claims')).toEqual({ rows: [lists.claims[1]], notice: undefined })
    expect(await seen('claims', 'demo')).toEqual({ rows: [lists.claims[1]], notice: undefined })
  })

  test('sees rows without a namespace too', async () => {
    expect(await seen('waiting')).toMatchObject({ rows: [lists.waiting[1], lists.waiting[2]] })
  })

  test('gets the reason for another namespace, and for a kind that it may not list', async () => {
    expect(await seen('claims', 'sales')).toBe(
      'only namespace demo is shown; for sales, start lodestone ui with -n sales',
    )
    expect(await seen('sources')).toBe(
      'you may not list datasources.datadependency.volcano.sh; ask an administrator for this right',
    )
  })
})

test('rights on kinds that a member cluster does not have are not needed', async () => {
  const viewer = viewerWith(['list pods', 'list volumemanagers.vck.intelai.org'])
  const members = { ...lists, waiting: lists.waiting.slice(2) }
  const found = await visibleRows('waiting', {
    lists: members,
    viewer,
    isServed: ({ group }) => !group.includes('karmada'),
  })
  expect(found).toEqual({ rows: members.waiting })
})

test('of many namespaces, a reader sees the first 100, and a notice to choose one', async () => {
  const claims = Array.from({ length: 1_000 }, (_, i) => ({
    namespace: `n-${String(i).padStart(4, '0')}`,
    name: 'orders',
  }))
  const asked: string[] = []
  const rights = claims.map(({ namespace }) => `list ${CLAIMS} in ${namespace}`)
  const viewer = viewerWith(rights, asked)
  const found = await visibleRows('claims', { lists: { ...lists, claims } as unknown as Lists, viewer, isServed })
  expect(asked).toHaveLength(101)
  expect(found).toMatchObject({ notice: expect.stringContaining('of the first 100; choose a namespace') })
})
