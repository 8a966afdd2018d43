/** `npm run check:prose`: checks the language of all files, and of the subjects of commits. */
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { blocksOf } from './read.ts'
import { faultsIn, faultsOf, subjectForms } from './rules.ts'

const folders = '{src,test,bench,docs,webhooks,charts,examples,.github,.ci}'
const exclude = ['test/prose/{rules,prose.test}.ts']
const paths = globSync([`{*,${folders}/**/*}.{md,ts,yaml,yml}`, '.ci/run'], { exclude })
const faults = paths
  .sort()
  .flatMap((path) =>
    blocksOf(path, readFileSync(path, 'utf8')).flatMap(({ line, text, isMessage }) =>
      faultsOf(text, isMessage).map((fault) => `${path}:${line}: ${fault}`),
    ),
  )

// In a shallow clone without the first commit of the rules, all commits are checked; without a repository, none.
const first = '7816a5d3c6459d662caa633855a559dbf057ea43'
const range = spawnSync('git', ['merge-base', '--is-ancestor', first, 'HEAD']).status === 0 ? `${first}..` : 'HEAD'
const { stdout } = spawnSync('git', ['log', '--format=%h %p\t%s', range], { encoding: 'utf8' })
faults.push(...(stdout ?? '').split('\n').flatMap((commit) => faultsIn(commit, subjectForms)))

console.log([...faults, `${faults.length} findings`].join('\n'))
process.exitCode = faults.length > 0 ? 1 : 0
