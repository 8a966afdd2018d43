import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import {
  makeBinding,
  makeClaim,
  makeDeployment,
  makeForeignClaim,
  makePod,
  makePolicy,
  makeSource,
  makeVolumeManager,
} from '../../../test/builders.ts'
import { makeFolder } from '../cli.fake.ts'
import { at, status } from './status.fake.ts'

describe('the output for programs', () => {
  const validate = new Ajv().compile(JSON.parse(readFileSync('docs/reference/status.schema.json', 'utf8')))
  const objects = () => [
    { ...makeClaim(), status: { phase: 'Bound' } },
    makeForeignClaim(),
    makeClaim({ dataSourceName: 'lake.shop.none' }, { name: 'none' }),
    makeSource(
      { locality: { clusterNames: ['member2'], location: 's3://lake/sales', bytes: 1, bytesAreMinimum: true } },
      { status: { phase: 'Available', lastResolvedTime: at(9), lastError: 'HTTP 503' } },
    ),
    makePolicy(),
    makeDeployment({ name: 'app' }),
    makeBinding(
      { suspension: { scheduling: true } },
      {
        name: 'b',
        annotations: { 'lodestone.dev/hold': JSON.stringify({ message: '', reason: 'Unresolved', since: at(9) }) },
      },
    ),
    makeVolumeManager(),
    makePod({ name: 'sales' }),
  ]

  test.each([['--all-namespaces'], ['-n', 'default'], ['--held'], ['--held', '--volumes'], ['--system', 'amoro']])(
    '%s %s matches its schema, as JSON and as YAML',
    async (...options) => {
      const json = await status(objects(), '-o', 'json', ...options)
      const yaml = await status(objects(), '-o', 'yaml', ...options)

      const report = JSON.parse(json.stdout)
      expect(validate(report), JSON.stringify(validate.errors)).toBe(true)
      expect(parse(yaml.stdout)).toEqual(report)
    },
  )

  test('matches its schema with warnings about a data system', async () => {
    const lake = 'system: amoro\nendpoint: { url: http://ams }\nlocationMapping: { s3://old/: [m1] }\n'
    const folder = makeFolder({ 'systems/lake': lake })
    const config = join(makeFolder({ 'c.yaml': { systems: { directory: join(folder, 'systems') } } }), 'c.yaml')
    const report = JSON.parse((await status(objects(), '-o', 'json', '--config', config)).stdout)
    expect(report.systems).toMatchObject([{ name: 'amoro', warnings: [expect.stringContaining('s3://old/')] }])
    expect(validate(report), JSON.stringify(validate.errors)).toBe(true)
  })

  test('has every list, with the objects that the tables show', async () => {
    const report = JSON.parse((await status(objects(), '-o', 'json')).stdout)

    expect(Object.keys(report)).toEqual(['apiVersion', 'kind', 'claims', 'holds', 'volumes', 'sources', 'systems'])
    expect(report.claims).toMatchObject([
      { name: 'none', phase: 'Pending', location: 'Unknown', clusters: [] },
      { name: 'sales', phase: 'Bound', location: 'Located', clusters: ['member2'] },
      { namespace: 'other', phase: 'Pending', location: 'NotPermitted', clusters: [] },
    ])
    expect(report.holds).toMatchObject([
      { workload: { kind: 'Deployment', name: 'app' }, binding: 'default/b', reason: 'Unresolved', since: at(9) },
      {
        workload: { kind: 'Deployment', name: 'app' },
        message: expect.stringContaining('default/none: no DataSource'),
      },
      { workload: { kind: 'Pod', name: 'trainer' }, reason: 'VolumesNotReady' },
    ])
    expect(report.systems).toEqual([{ name: 'amoro', sources: 1, staleSources: 0, health: 'Healthy' }])
  })
})
