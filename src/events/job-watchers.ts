import type { CrowdPlace, Member, Standing } from './hub.ts'
import type { JobUpdate } from './job-update.ts'
import type { Told } from './journal-window.ts'
import type { Crowd, Hearer } from './stream.ts'

/** Who watches one job. Those that were told the same and listen are told of what comes next together, the others each by itself. */
export interface JobWatchers {
  readonly members: ReadonlySet<Member>
  enter(member: Member): void
  leave(member: Member): void
  tell(events: readonly Told[]): void
  /** Instead of `news` this hearer of the member's is told, together with its crowd, until `heard` or until it leaves its place. */
  tellCrowd(member: Member, hearer: Hearer<JobUpdate>, crowd: Crowd<JobUpdate>, standing: Standing): CrowdPlace
}

export function createJobWatchers(): JobWatchers {
  const members = new Set<Member>()
  const alone = new Set<Member>()
  const groups = new Map<string, Group>()

  const goAlone = (group: Group, hearer: Hearer<JobUpdate>): Member | undefined => {
    const member = group.memberOf.get(hearer)
    if (member === undefined) return undefined
    group.memberOf.delete(hearer)
    if (group.memberOf.size === 0 && groups.get(group.name) === group) groups.delete(group.name)
    if (members.has(member)) alone.add(member)
    return member
  }

  const tellGroup = (group: Group, all: readonly Told[]): void => {
    const next = group.revision + 1
    const events = all.filter(({ event }) => event.revision >= next)
    const [told] = events
    if (told === undefined) return
    // Who is told by itself gets several in one write.
    const update = events.length === 1 && told.event.revision === next ? group.plainUpdate(told) : undefined
    if (update === undefined) {
      for (const hearer of [...group.memberOf.keys()]) goAlone(group, hearer)?.news(events)
      return
    }
    groups.delete(group.name)
    group.crowd.hear(update, group.memberOf.keys(), (hearer, isTaken) => {
      const member = goAlone(group, hearer)
      member?.heard?.(isTaken ? next : group.revision)
      if (!isTaken) member?.news(events)
    })
    group.revision = next
    group.name = nameOf(group.crowd, group.standing, next)
    // One that was told by itself may have been quicker.
    while (groups.has(group.name)) group.name += ' too'
    if (group.memberOf.size > 0) groups.set(group.name, group)
  }

  return {
    members,
    enter(member) {
      members.add(member)
      alone.add(member)
    },
    leave(member) {
      members.delete(member)
      alone.delete(member)
    },
    tell(events) {
      // Both as they are now: who changes over meanwhile has been told.
      const [single, together] = [[...alone], [...groups.values()]]
      for (const member of single) member.news(events)
      for (const group of together) tellGroup(group, events)
    },
    tellCrowd(member, hearer, crowd, { name: standing, revision, plainUpdate }) {
      const name = nameOf(crowd, standing, revision)
      let group = groups.get(name)
      if (group === undefined)
        groups.set(name, (group = { name, standing, crowd, plainUpdate, revision, memberOf: new Map() }))
      const joined = group
      joined.memberOf.set(hearer, member)
      alone.delete(member)
      return {
        leave() {
          goAlone(joined, hearer)
          return joined.revision
        },
      }
    },
  }
}

/** A crowd, and whose hearers are in it. */
interface Group {
  name: string
  readonly standing: string
  readonly crowd: Crowd<JobUpdate>
  readonly plainUpdate: (told: Told) => JobUpdate | undefined
  revision: number
  readonly memberOf: Map<Hearer<JobUpdate>, Member>
}

const nameOf = (crowd: Crowd<JobUpdate>, standing: string, revision: number): string =>
  `${revision} ${standing} ${crowd.name}`
