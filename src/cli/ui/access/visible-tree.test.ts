import { expect, test } from 'vitest'
import { dataSources } from '../../../api/data-source.ts'
import { dataSourceClaims } from '../../../api/data-source-claim.ts'
import type { TreeNode } from '../../explain/tree.ts'
import { viewerWith } from './viewer.fake.ts'
import { visibleTree } from './visible-tree.ts'

const CLAIMS = 'datasourceclaims.datadependency.volcano.sh'
const claim = { text: 'claim', kind: 'DataSourceClaim', namespace: 'demo', name: 'orders' }
const source = { text: 'source of 5 GiB', kind: 'DataSource', name: 'orders', children: [{ text: 'in member2' }] }
const tree: TreeNode = { text: 'Deployment demo/app', children: [{ ...claim, children: [source] }] }
const known = [dataSourceClaims, dataSources]

test('an explanation has no objects that the reader may not read, and says so', async () => {
  const seen = await visibleTree(tree, viewerWith([`list ${CLAIMS} in demo`]), known)
  const hidden = { text: 'DataSource: not shown, since you may not get datasources.datadependency.volcano.sh' }
  expect(seen).toEqual({ ...tree, children: [{ ...claim, children: [hidden] }] })
})

test('the right to get one object is enough for it', async () => {
  const rights = [`list ${CLAIMS}`, 'get datasources.datadependency.volcano.sh orders']
  expect(await visibleTree(tree, viewerWith(rights), known)).toEqual(tree)
})

test('an object of an unknown kind is not shown', async () => {
  const unknown = { text: 'secret words', kind: 'Thing', name: 'a' }
  expect(await visibleTree(unknown, viewerWith([]), known)).toEqual({
    text: 'Thing: not shown, since you may not get it',
  })
})

test('an explanation costs a bounded number of questions', async () => {
  const children = Array.from({ length: 1_000 }, (_, i) => ({ ...claim, name: `orders-${i}` }))
  const asked: string[] = []
  await visibleTree({ text: 'all', children }, viewerWith([], asked), known)
  expect(asked.length).toBeLessThanOrEqual(600)
})
