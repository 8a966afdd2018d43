/** The shell blocks of the pages for users: each runs here, or in another test, or has a reason. */
import { existsSync, globSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { runWords } from '../src/cli/cli.fake.ts'
import { CAUSED_IN } from './alerts/caused.ts'
import { HUB, MEMBER } from './e2e/walked-blocks.ts'
import { type BlockName, blocksOf, findBlock, nameOf, wordsOnExamples } from './shell-blocks.ts'

const blocks = globSync(['README.md', 'docs/*.md', 'docs/{concepts,guides,reference,tutorials}/**/*.md'])
  .sort()
  .flatMap(blocksOf)
const onExamples = blocks.filter((block) => wordsOnExamples(block) !== undefined)

const escaped = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** A line that is only `…` stands for any lines. */
function asPattern(shown: string): RegExp {
  const lines = shown.split('\n').map((line) => (line === '…' ? '(?:.*\\n)*?.*' : escaped(line)))
  return new RegExp(`^${lines.join('\\n')}$`)
}

describe.each(onExamples)('$page', (block) => {
  const commands = (wordsOnExamples(block) ?? []).map((words, i) => ({ words, shown: block.outputs[i] }))

  test.each(commands)(
    'shows what lodestone $words.0 $words.1 $words.2 $words.3 prints',
    async ({ words, shown = '' }) => {
      const { stdout, stderr } = await runWords(words)
      expect(stdout + stderr).toMatch(asPattern(shown))
    },
  )
})

test('enough blocks run here', () => {
  expect(onExamples.length).toBeGreaterThan(12)
})

const QUICK_START = 'docs/tutorials/quick-start.md'
const HUB_PAGE = 'docs/tutorials/getting-started-hub.md'
const VOLUMES_PAGE = 'docs/tutorials/getting-started-volumes.md'
const VOLUMES = 'docs/concepts/volumes.md'
const CHECK = 'docs/guides/check.md'
const TROUBLESHOOTING = 'docs/guides/troubleshooting.md'
const UPGRADE = 'docs/guides/upgrade.md'
const WHAT_IF = 'docs/concepts/what-if.md'

/** The blocks whose commands another test runs, on objects of its own. */
const ELSEWHERE: { block: BlockName; test: string }[] = [
  { block: ['README.md', 'npm ci && npm start'], test: 'test/integration/cli-process.test.ts' },
  { block: [QUICK_START, 'npm start'], test: 'test/integration/cli-process.test.ts' },
  { block: [QUICK_START, 'lodestone ui'], test: 'test/integration/ui.test.ts' },
  { block: ['docs/guides/snapshots.md', 'lodestone snapshot'], test: 'src/cli/snapshot/snapshot.test.ts' },
  { block: [CHECK, 'lodestone check -f claim.yaml'], test: 'test/e2e/check-agrees.e2e.test.ts' },
  { block: [CHECK, 'lodestone check -f workload.yaml'], test: 'src/cli/check/check.test.ts' },
  { block: ['docs/guides/kustomize.md', 'lodestone kustomize-config'], test: 'test/e2e/kustomize.e2e.test.ts' },
  { block: ['docs/guides/migration.md', 'kubectl'], test: 'test/e2e/deploy-guide.e2e.test.ts' },
  { block: [HUB_PAGE, 'lodestone manifests crds'], test: 'test/e2e/check-install.e2e.test.ts' },
  { block: [HUB_PAGE, 'lodestone manifests election'], test: 'test/integration/serve-process.test.ts' },
  { block: [VOLUMES_PAGE, 'cat > lodestone.yaml'], test: 'test/integration/serve-process.test.ts' },
  { block: [VOLUMES, 'kubectl create namespace lodestone-movers'], test: 'test/e2e/volumes-namespace.e2e.test.ts' },
  { block: [VOLUMES, 'kubectl annotate vmgr sales --overwrite'], test: 'test/e2e/volumes-checks.e2e.test.ts' },
  { block: [VOLUMES, 'kubectl annotate vmgr sales -n team'], test: 'test/e2e/volumes-namespace.e2e.test.ts' },
  {
    block: [UPGRADE, 'helm upgrade lodestone charts/lodestone -n lodestone-system --reset-then-reuse-values --take'],
    test: 'test/e2e/chart-upgrade.e2e.test.ts',
  },
  { block: [UPGRADE, "objects='crd"], test: 'test/e2e/chart-upgrade.e2e.test.ts' },
  { block: [TROUBLESHOOTING, 'kubectl get namespace team'], test: 'test/e2e/volumes-namespace.e2e.test.ts' },
  {
    block: ['docs/reference/configuration.md', 'kubectl annotate namespace shop'],
    test: 'test/integration/tenancy.test.ts',
  },
  { block: ['docs/guides/ci.md', 'lodestone check'], test: 'test/integration/ci-page.test.ts' },
  { block: ['docs/guides/ci.md', 'helm template'], test: 'test/integration/ci-page.test.ts' },
  { block: ['docs/guides/movers.md', 'set -eu'], test: 'test/integration/mover-process.test.ts' },
  { block: ['docs/guides/test.md', 'lodestone test'], test: 'src/cli/test.test.ts' },
  { block: [WHAT_IF, 'lodestone snapshot'], test: 'src/cli/what-if/what-if.test.ts' },
  { block: [WHAT_IF, 'lodestone what-if --policy policy.yaml'], test: 'src/cli/what-if/what-if.test.ts' },
  { block: ['docs/page.md', 'lodestone ui'], test: 'test/integration/ui.test.ts' },
  { block: ['docs/page.md', 'curl'], test: 'test/integration/ui.test.ts' },
]

/** The blocks that no test runs, with the reason. */
const NOT_RUN: { block: BlockName; reason: string }[] = [
  { block: ['README.md', 'npm ci && npm test'], reason: 'it runs this test' },
  { block: [QUICK_START, 'git clone'], reason: 'the address of the repository is not known' },
  { block: ['docs/reference/compatibility.md', 'npm run e2e'], reason: 'it runs the end-to-end tests' },
]

/** The blocks of the alerts. */
const OF_ALERTS = Object.entries(CAUSED_IN).flatMap(([name, alerts]) =>
  alerts.map((alert): (typeof ELSEWHERE)[number] => ({
    block: ['docs/guides/alerts.md', '', alert],
    test: `test/e2e/${name}.test.ts`,
  })),
)
const OTHERS = [...ELSEWHERE, ...OF_ALERTS]

describe('a block', () => {
  const names: BlockName[] = [...Object.values(HUB), ...Object.values(MEMBER), ...OTHERS.map(({ block }) => block)]
  const accounted = () => [...names, ...NOT_RUN.map(({ block }) => block)].map((name) => nameOf(findBlock(name)))
  const rest = blocks.filter((block) => !onExamples.includes(block)).map(nameOf)

  test('is run by a test, or has a reason', () => {
    const known = accounted()
    expect(rest.filter((name) => !known.includes(name))).toEqual([])
  })

  test('is run in one place', () => {
    const known = accounted()
    expect(known.filter((name, i) => known.indexOf(name) !== i || !rest.includes(name))).toEqual([])
  })

  test('is run by a test that exists', () => {
    expect(OTHERS.filter(({ test: file }) => !existsSync(file))).toEqual([])
  })
})
