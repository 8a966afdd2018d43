import { testRules, type ValueCases, type VolumeCase } from '../../../../test/volume-rule-tables.ts'
import * as rules from './resync-rules.ts'
import { DEFAULT_VOLUME_LIMITS } from './settings.ts'

const VALUES: ValueCases[] = [
  { name: 'resync', rule: rules.resync, option: 'resync', valid: ['true', 'F', ''], invalid: [['yes', 'Invalid']] },
  {
    name: 'resyncInterval',
    rule: rules.resyncInterval,
    option: 'resyncInterval',
    valid: ['5m'],
    invalid: [
      ['0s', 'Invalid'],
      ['soon', 'Invalid'],
    ],
  },
]

const VOLUMES: VolumeCase[] = [
  {
    name: 'resync of a read-only volume',
    rule: rules.resyncReadOnly,
    options: { resync: 'true' },
    more: { readOnly: true },
    code: 'Invalid',
  },
  { name: 'resync of a writable volume', rule: rules.resyncReadOnly, options: { resync: 'true' }, code: undefined },
  {
    name: 'resync with two replicas',
    rule: rules.resyncReplicas,
    options: { resync: 'true' },
    more: { replicas: 2 },
    code: 'Invalid',
  },
  {
    name: 'resync with two parts of one replica',
    rule: rules.resyncReplicas,
    options: { resync: 'true', distributionStrategy: '{"p0/*": 1, "p1/*": 1}' },
    more: { replicas: 2 },
    code: undefined,
  },
  {
    name: 'resync with a part of two replicas',
    rule: rules.resyncReplicas,
    options: { resync: 'true', distributionStrategy: '{"p0/*": 2, "p1/*": 1}' },
    more: { replicas: 3 },
    code: 'Invalid',
  },
  {
    name: 'no resync with two replicas',
    rule: rules.resyncReplicas,
    options: { resync: 'false' },
    more: { replicas: 2 },
    code: undefined,
  },
  {
    name: 'resync of files without folders',
    rule: rules.resyncFlatten,
    options: { resync: 'true', flatten: 'true' },
    code: 'Invalid',
  },
  {
    name: 'resync of files with folders',
    rule: rules.resyncFlatten,
    options: { resync: 'true', flatten: 'false' },
    code: undefined,
  },
]

testRules(DEFAULT_VOLUME_LIMITS, VALUES, VOLUMES)
