// The real kustomize: with `lodestone kustomize-config`, names in claims and policies follow namePrefix. No control plane is needed.
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import type { K8sObject } from '../../src/api/meta.ts'
import { makeFolder, runWords } from '../../src/cli/cli.fake.ts'
import { makeClaim, makeDeployment, makePolicy, makeSource, makeVolume, makeVolumeManager } from '../builders.ts'
import { ensureKubernetesBinaries } from './binaries.ts'
import { runCommand } from './processes.ts'

const selectors = { resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'app' }] }
const volume = makeVolume({ options: { awsCredentialsSecretName: 'aws', sourceURL: 's3://bucket/data/' } })
const resources = [
  makeDeployment({ name: 'app' }),
  makeClaim(),
  makePolicy({ ...makePolicy().spec, ...selectors }),
  { ...makeVolumeManager([volume]), metadata: { name: 'data', namespace: 'default' } },
]

/** Builds the manifests with a prefix and a generated Secret. */
async function build(configurations: string[]): Promise<{ folder: string; objects: K8sObject[] }> {
  const { stdout: names } = await runWords(['kustomize-config'])
  const folder = makeFolder({
    'names.yaml': names,
    'app.yaml': resources,
    'kustomization.yaml': {
      namePrefix: 'eu-',
      resources: ['app.yaml'],
      secretGenerator: [{ name: 'aws', namespace: 'default', literals: ['accessKey=x'] }],
      configurations,
    },
    'hub/source.yaml': makeSource(),
  })
  const { kubectl } = await ensureKubernetesBinaries()
  const { stdout } = await runCommand(kubectl, ['kustomize', folder], { env: {}, cwd: folder, timeoutMs: 30_000 })
  const objects = parseAllDocuments(stdout).map((document) => document.toJS() as K8sObject)
  return { folder: makeFolder({ 'built.yaml': objects, 'hub/source.yaml': makeSource() }), objects }
}

function check(folder: string) {
  return runWords(['check', '-f', join(folder, 'built.yaml'), '--folder', join(folder, 'hub'), '-o', 'json'])
}

describe('namePrefix', () => {
  test('breaks claim and policy without the configuration, which check reports', async () => {
    const { folder } = await build([])
    const { stdout } = await check(folder)
    const { findings }: { findings: { id: string }[] } = JSON.parse(stdout)
    expect(stdout).not.toContain('"decision": "Narrowed"')
    expect(findings.map(({ id }) => id)).toEqual(expect.arrayContaining(['dangling-claim', 'no-policy']))
  })

  test('keeps claim, policy and VolumeManager right with the configuration', async () => {
    const { folder, objects } = await build(['names.yaml'])
    const named = (kind: string) => objects.find((object) => object.kind === kind)
    const secret = named('Secret')?.metadata.name

    expect(named('DataSourceClaim')).toMatchObject({ spec: { workload: { name: 'eu-app' } } })
    expect(named('PropagationPolicy')).toMatchObject({ spec: { resourceSelectors: [{ name: 'eu-app' }] } })
    expect(secret).toMatch(/^eu-aws-/)
    expect(named('VolumeManager')).toMatchObject({
      spec: { volumeConfigs: [{ options: { awsCredentialsSecretName: secret } }] },
    })
    const { status, stdout } = await check(folder)
    expect(status).toBe(0)
    expect(stdout).toContain('"decision": "Narrowed"')
  })
})
