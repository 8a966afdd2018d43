import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { SHIPPED_KINDS } from '../core/workload-kinds/kinds.ts'
import { makeFolder, runWords } from './cli.fake.ts'

interface Reference {
  group?: string
  kind: string
  fieldSpecs: { group: string; kind: string; path: string }[]
}

async function references(words: string[] = []): Promise<Reference[]> {
  const { status, stdout, stderr } = await runWords(['kustomize-config', ...words])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return parse(stdout).nameReference
}

test('claims and policies refer to every workload kind, once', async () => {
  const found = await references()
  const deployment = found.filter(({ group, kind }) => group === 'apps' && kind === 'Deployment')

  expect(deployment.map(({ fieldSpecs }) => fieldSpecs)).toEqual([
    [
      { group: 'datadependency.volcano.sh', kind: 'DataSourceClaim', path: 'spec/workload/name' },
      { group: 'policy.karmada.io', kind: 'PropagationPolicy', path: 'spec/resourceSelectors/name' },
      { group: 'policy.karmada.io', kind: 'ClusterPropagationPolicy', path: 'spec/resourceSelectors/name' },
    ],
  ])
  const keys = found.map(({ group = '', kind }) => `${group}/${kind}`)
  expect(keys).toEqual(expect.arrayContaining(SHIPPED_KINDS.all.map(({ type }) => `${type.group}/${type.kind}`)))
  expect(new Set(keys).size).toBe(keys.length)
})

test('VolumeManagers refer to Secrets and ServiceAccounts', async () => {
  const found = await references()
  const pathsTo = (name: string) =>
    found
      .find(({ kind }) => kind === name)
      ?.fieldSpecs.filter(({ kind }) => kind === 'VolumeManager')
      .map(({ path }) => path)

  expect(pathsTo('Secret')).toEqual([
    'spec/volumeConfigs/options/awsCredentialsSecretName',
    'spec/volumeConfigs/options/pachAuthSecretName',
    'spec/volumeConfigs/options/azureCredentialsSecretName',
  ])
  expect(pathsTo('ServiceAccount')).toEqual(['spec/volumeConfigs/mover/serviceAccountName'])
  expect(pathsTo('ConfigMap')).toEqual([])
})

test('the kinds of the configuration are there too', async () => {
  const kind = {
    group: 'example.com',
    versions: ['v1'],
    kind: 'Simulation',
    plural: 'simulations',
    templates: ['spec.template'],
  }
  const config = join(makeFolder({ 'config.yaml': { workloadKinds: [kind] } }), 'config.yaml')

  expect(await references(['--config', config])).toContainEqual(
    expect.objectContaining({ group: 'example.com', kind: 'Simulation' }),
  )
})

test('the head names what kustomize cannot change', async () => {
  const { stdout } = await runWords(['kustomize-config'])
  expect(stdout).toMatch(
    /^# Not possible: names in the annotations lodestone.dev\/volumes and lodestone.dev\/depends-on\.$/m,
  )
})
