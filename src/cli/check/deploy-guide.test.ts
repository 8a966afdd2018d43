/** Checks manifests in the form of volcano-global's deploy guide. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makeSource } from '../../../test/builders.ts'
import { makeFolder, runWords } from '../cli.fake.ts'

const GUIDE = join(import.meta.dirname, '..', '..', '..', 'test', 'data', 'deploy-guide')
const ORDERS = { system: 'amoro', type: 'table', name: 'north.shop.orders' }
const title = 'Deployment default/report → ResourceBinding default/report-deployment'

/** A folder with these files of the guide, and the DataSource of its claim. */
function makeGuide(...files: string[]): string {
  const folder = makeFolder({ 'source.yaml': makeSource({ ...ORDERS, locality: { clusterNames: ['member1'] } }) })
  for (const file of files) cpSync(join(GUIDE, file), join(folder, file))
  return folder
}

describe('the manifests of the deploy guide', () => {
  const all = ['config-map.yaml', 'controller-manager.yaml', 'claim.yaml', 'propagation-policy.yaml']

  test('are valid in a folder, with clusterNames that is null: a Deployment is narrowed', async () => {
    const words = ['check', '-f', join(GUIDE, 'deployment.yaml'), '--folder', makeGuide(...all)]

    const { status, stdout, stderr } = await runWords(words)

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain(`✔ ${title}: narrowed\n    default/orders-of-report is in member1\n`)
  })

  test('are valid in any order, and the policy is stored without the null', async () => {
    const files = [...all, 'deployment.yaml'].reverse().flatMap((file) => ['-f', join(GUIDE, file)])

    const { status, stdout, stderr } = await runWords(['check', ...files, '--folder', makeGuide(), '-o', 'json'])

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    const policy = JSON.parse(stdout).objects.find(({ object }: { object: string }) =>
      object.startsWith('PropagationPolicy'),
    )
    expect(policy).toMatchObject({ outcome: 'patched', decision: 'Propagated' })
    expect(policy.patch).toEqual([
      { op: 'add', path: '/metadata/annotations', value: { 'lodestone.dev/propagate-deps-set': 'true' } },
      { op: 'add', path: '/spec/propagateDeps', value: true },
    ])
  })

  test('a DataSource in the words of the guide is rejected with the fields of the CRD', async () => {
    const { status, stdout } = await runWords(['check', '-f', join(GUIDE, 'data-source-shorthand.yaml')])

    expect(status).toBe(1)
    expect(stdout).toContain('spec.dataSourceType: unknown field; use spec.type (denied-object)\n')
    expect(stdout).toContain('spec.dataSourceName: unknown field; use spec.name (denied-object)\n')
    expect(stdout).toContain('spec.location: unknown field; use spec.locality.location (denied-object)\n')
    expect(stdout).toContain('spec.clusters: unknown field; use spec.locality.clusterNames (denied-object)\n')
    expect(stdout).toContain('spec.status: unknown field; use status.phase (denied-object)\n')
  })
})
