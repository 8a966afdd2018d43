import { expect, test } from 'vitest'
import { makeVolume } from '../../../../test/builders.ts'
import { testRules, type ValueCases, type VolumeCase } from '../../../../test/volume-rule-tables.ts'
import * as rules from './option-rules.ts'
import { DEFAULT_VOLUME_LIMITS, type VolumeLimits } from './settings.ts'

const LIMITS: VolumeLimits = {
  ...DEFAULT_VOLUME_LIMITS,
  localRoots: ['/mnt/local'],
  allowedLocalNetworks: ['127.9.0.0/16'],
}
const VALUES: ValueCases[] = [
  { name: 'required', rule: rules.required('repo'), option: 'repo', valid: ['a'], invalid: [['', 'Required']] },
  {
    name: 'credentials',
    rule: rules.credentials('awsCredentialsSecretName'),
    option: 'awsCredentialsSecretName',
    valid: ['', 'a'],
    invalid: [],
  },
  {
    name: 'secretName',
    rule: rules.secretName('s'),
    option: 's',
    valid: ['', 'a.b'],
    invalid: [
      ['other/a', 'Invalid'],
      ['A', 'Invalid'],
    ],
  },
  {
    name: 'sourceUrl',
    rule: rules.sourceUrl,
    option: 'sourceURL',
    valid: ['s3://abc', 's3://abc/b..c/'],
    invalid: [
      ['a', 'Invalid'],
      ['s3://a/../b', 'Invalid'],
      ['s3://a/./b', 'Invalid'],
      ['s3://a/\n', 'Invalid'],
    ],
  },
  {
    name: 'endpoint',
    rule: rules.endpoint('e'),
    option: 'e',
    valid: ['http://s3:9000', 'http://127.9.0.1'],
    invalid: [
      ['s3:9000', 'Invalid'],
      ['http://127.0.0.1', 'Invalid'],
      ['http://169.254.169.254', 'Invalid'],
    ],
  },
  {
    name: 'pachydermAddress',
    rule: rules.pachydermAddress,
    option: 'pachydermServiceAddress',
    valid: ['pachd:650'],
    invalid: [
      ['http://pachd', 'Invalid'],
      ['pachd/x', 'Invalid'],
      ['127.0.0.1:650', 'Invalid'],
    ],
  },
  {
    name: 'region',
    rule: rules.region,
    option: 'region',
    valid: ['eu-central-1'],
    invalid: [
      ['-a', 'Invalid'],
      ['a'.repeat(64), 'Invalid'],
    ],
  },
  { name: 'verify', rule: rules.verify, option: 'verify', valid: ['checksum', 'size'], invalid: [['none', 'Invalid']] },
  {
    name: 'timeout',
    rule: rules.timeout,
    option: 'timeoutForDataDownload',
    valid: ['5m'],
    invalid: [
      ['5', 'Invalid'],
      ['', 'Invalid'],
      ['0s', 'Invalid'],
    ],
  },
  { name: 'flatten', rule: rules.flatten, option: 'flatten', valid: ['', 'true', 'F'], invalid: [['yes', 'Invalid']] },
  {
    name: 'exclude',
    rule: rules.exclude,
    option: 'exclude',
    valid: ['', '*.crc', '["*.crc", "*/"]'],
    invalid: [
      ['["a", 1]', 'Invalid'],
      ['["a"', 'Invalid'],
      ['[""]', 'Invalid'],
      [JSON.stringify(Array.from({ length: 101 }, () => 'a')), 'Invalid'],
    ],
  },
  {
    name: 'hostDirectory for data',
    rule: rules.hostDirectory('p', 'data'),
    option: 'p',
    valid: ['', '/var/datasets/a'],
    invalid: [
      ['/etc', 'Forbidden'],
      ['/var/datasets/../x', 'Invalid'],
      ['/var/datasets/vck-resource-1', 'Forbidden'],
    ],
  },
  {
    name: 'hostDirectory for Local',
    rule: rules.hostDirectory('p', 'local'),
    option: 'p',
    valid: ['', '/mnt/local/a'],
    invalid: [
      ['/var/datasets/a', 'Forbidden'],
      ['a', 'Invalid'],
    ],
  },
  {
    name: 'absolutePath',
    rule: rules.absolutePath,
    option: 'path',
    valid: ['/', '/a'],
    invalid: [
      ['a', 'Invalid'],
      ['/a/..', 'Invalid'],
    ],
  },
  {
    name: 'outputPath',
    rule: rules.outputPath,
    option: 'outputPath',
    valid: ['a/b'],
    invalid: [
      ['/a', 'Invalid'],
      ['../a', 'Invalid'],
    ],
  },
  {
    name: 'server',
    rule: rules.server,
    option: 'server',
    valid: ['10.0.0.7', 'fd00::7', 'nfs.example.com'],
    invalid: [
      ['a b', 'Invalid'],
      ['127.0.0.1', 'Invalid'],
      ['::1', 'Invalid'],
    ],
  },
  { name: 'ownNamespace', rule: rules.ownNamespace, option: 'namespaces', valid: ['a'], invalid: [] },
]

const VOLUMES: VolumeCase[] = [
  {
    name: 'credentials that are absent',
    rule: rules.credentials('awsCredentialsSecretName'),
    options: {},
    code: 'Required',
  },
  { name: 'a namespace of a Secret', rule: rules.ownNamespace, options: { secretNamespace: 'a' }, code: 'Forbidden' },
  {
    name: 'parts for all replicas',
    rule: rules.distribution,
    options: { distributionStrategy: '{"a": 1, "b": 2}' },
    more: { replicas: 3 },
    code: undefined,
  },
  {
    name: 'parts for fewer replicas',
    rule: rules.distribution,
    options: { distributionStrategy: '{"a": 1}' },
    more: { replicas: 3 },
    code: 'Invalid',
  },
  {
    name: 'a node address for another image',
    rule: rules.sourceHost,
    options: { sourceURL: 'http://127.0.0.1:80/a' },
    more: { mover: { image: 'a' } },
    code: 'Forbidden',
  },
  {
    name: 'a node address as a bucket',
    rule: rules.sourceHost,
    options: { sourceURL: 'http://127.0.0.1/a' },
    code: undefined,
  },
]

testRules(LIMITS, VALUES, VOLUMES)

test('a status has the message without its full stop, as in VCK', () => {
  const fault = rules.required('repo')(makeVolume(), LIMITS)
  expect(fault && rules.statusMessage(fault)).toBe('repo has to be set in options')
})
