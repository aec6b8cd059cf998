/** Made from openapi.yaml by `npm run openapi`; do not edit. */
// biome-ignore-all lint: generated
// biome-ignore-all format: generated
// biome-ignore-all assist: generated
export interface paths {
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the process answers */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the service can do its work now */
        get: operations["getReady"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The state of the service, with warnings and what to do next */
        get: operations["getStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/whoami": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Who the service takes the caller for */
        get: operations["whoAmI"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/config": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the configuration */
        get: operations["getConfig"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Change the configuration */
        patch: operations["updateConfig"];
        trace?: never;
    };
    "/v1/pools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List pools */
        get: operations["listPools"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{pool}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a pool */
        get: operations["getPool"];
        /** Make or replace a pool */
        put: operations["putPool"];
        post?: never;
        /** Drain a pool, and remove it when it is empty */
        delete: operations["drainPool"];
        options?: never;
        head?: never;
        /** Change a pool */
        patch: operations["updatePool"];
        trace?: never;
    };
    "/v1/pools/{pool}/splits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Split a pool into equal parts */
        post: operations["splitPool"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/utilization": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** How full the pools are */
        get: operations["getUtilization"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/reservations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List reservations */
        get: operations["listReservations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/reservations/{reservation}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a reservation */
        get: operations["getReservation"];
        /** Make or replace a reservation */
        put: operations["putReservation"];
        post?: never;
        /** Delete a reservation */
        delete: operations["deleteReservation"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/hosts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List hosts */
        get: operations["listHosts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/hosts/{host}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a host */
        get: operations["getHost"];
        /** Register a host */
        put: operations["putHost"];
        post?: never;
        /** Remove a host */
        delete: operations["removeHost"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/hosts/{host}/readiness": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether a host could get an address now */
        get: operations["getHostReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/hosts/{host}/blocks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Make sure that a host owns a block */
        post: operations["ensureBlocks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/hosts/{host}/workloads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Report the workloads of a host */
        put: operations["reportWorkloads"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/hosts/{host}/attachment-gc": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Release what a runtime does not call valid */
        post: operations["collectAttachments"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/allocations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List allocations */
        get: operations["listAllocations"];
        put?: never;
        /** Allocate addresses */
        post: operations["allocate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/allocation-batches": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Allocate addresses for many handles of one host */
        post: operations["allocateBatch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/explanations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Explain what an allocation would get, and why */
        post: operations["explainAllocation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/allocations/{address}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the allocation of an address */
        get: operations["getAllocation"];
        /** Assign one exact address */
        put: operations["assignAddress"];
        post?: never;
        /** Release one address */
        delete: operations["releaseAddress"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/allocations/{address}/owners": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Change the owners of an address */
        patch: operations["updateOwners"];
        trace?: never;
    };
    "/v1/owner-changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Change one owner of all addresses of a handle */
        post: operations["changeOwner"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/releases": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Release handles and addresses */
        post: operations["release"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/handles/{handle}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read what a handle holds */
        get: operations["getHandle"];
        put?: never;
        post?: never;
        /** Release what a handle holds */
        delete: operations["releaseHandle"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/addresses/{address}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read everything about an address */
        get: operations["getAddress"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/blocks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List blocks */
        get: operations["listBlocks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/blocks/{block}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a block */
        get: operations["getBlock"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/affinity-claims": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Claim the blocks of a range for a host */
        post: operations["claimAffinities"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/affinity-releases": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Take blocks from their owners */
        post: operations["releaseAffinities"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/routes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List routes */
        get: operations["listRoutes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/gc": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the state of the leak collector */
        get: operations["getGc"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Pause the leak collector, or let it go on */
        patch: operations["updateGc"];
        trace?: never;
    };
    "/v1/gc/sweeps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Audit all hosts now */
        post: operations["startSweep"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/gc/acknowledgements": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Close the breaker of the leak collector */
        post: operations["acknowledgeBreaker"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/leaks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List suspected leaks */
        get: operations["listLeaks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List what happened lately */
        get: operations["listEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/checks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Check that all records agree, and repair them */
        post: operations["startCheck"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/checks/{check}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a check and its findings */
        get: operations["getCheck"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Considered: {
            /** @description open set: host, pool, block; ignore values you do not know */
            kind: string;
            pool?: string;
            block?: string;
            owner?: string;
            /** @description open set: used, skipped, full, refused; ignore values you do not know */
            outcome: string;
            /** @description open set: ok, pool_disabled, pool_draining, wrong_family, manual_only, not_requested, node_selector, namespace_selector, use_not_allowed, block_too_small, full, cooling, reserved, owned_by_other, cap_reached, auto_allocate_off, strict_affinity, reclaim_too_young, no_unclaimed_block; ignore values you do not know */
            rule: string;
            detail?: string;
            allocated?: number;
            free?: number;
            cooling?: number;
            reserved?: number;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            nextFreeAt?: string;
        };
        Evidence: {
            host?: string;
            pool?: string;
            otherPool?: string;
            block?: string;
            address?: string;
            handle?: string;
            family?: number;
            state?: string;
            requested?: number;
            allocated?: number;
            limit?: number;
            owned?: number;
            /** Format: int64 */
            revision?: number;
            /** Format: int64 */
            sequenceNumber?: number;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            freeAt?: string;
            field?: string;
            role?: string;
            requiredRole?: string;
            shortfall?: components["schemas"]["Shortfall"][];
        };
        Shortfall: {
            /** @enum {integer} */
            family: 4 | 6;
            requested: number;
            allocated: number;
            code: string;
            retryAfterSeconds?: number;
            considered: components["schemas"]["Considered"][];
            consideredOmitted: number;
        };
        FieldError: {
            /**
             * @description JSON pointer into the body
             * @example /ipv4/count
             */
            pointer?: string;
            /** @example limit */
            parameter?: string;
            code: string;
            message: string;
            limit?: number;
        };
        Problem: {
            /**
             * Format: uri-reference
             * @example /docs/errors/pool_exhausted
             */
            type: string;
            title: string;
            status: number;
            /**
             * @description open set, table in /docs/errors
             * @example pool_exhausted
             */
            code: string;
            detail: string;
            requestId: string;
            /** @description open set: no, after_change, later, same_request; ignore values you do not know */
            retry: string;
            retryAfterSeconds?: number;
            /** @description what to do next */
            hint?: string;
            errors?: components["schemas"]["FieldError"][];
            evidence?: components["schemas"]["Evidence"];
        };
        Allocation: {
            /**
             * @description IPv4 or IPv6 address; any RFC 4291 spelling in, RFC 5952 out
             * @example 10.244.3.17
             */
            address: string;
            /**
             * @description address with the block's prefix length, for CNI
             * @example 10.244.3.17/26
             */
            interfaceAddress: string;
            /** @enum {integer} */
            family: 4 | 6;
            pool: string;
            /**
             * @description masked CIDR
             * @example 10.244.3.0/26
             */
            block: string;
            host: string;
            handle?: string;
            /** @description open set: Workload, Tunnel, LoadBalancer; ignore values you do not know */
            use: string;
            /** @description open set: allocated, cooling; ignore values you do not know */
            state: string;
            attributes: {
                [key: string]: string;
            };
            alternateAttributes?: {
                [key: string]: string;
            };
            /** Format: int64 */
            sequenceNumber: number;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            allocatedAt: string;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            releasedAt?: string;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            freeAt?: string;
            borrowed: boolean;
            reserved: boolean;
            /**
             * @description IPv4 or IPv6 address; any RFC 4291 spelling in, RFC 5952 out
             * @example 10.244.3.17
             */
            gateway?: string;
            /** @description open set: auto, never; ignore values you do not know */
            leakCollection?: string;
        };
        AllocationList: {
            items: components["schemas"]["Allocation"][];
            nextCursor?: string;
        };
        AllocationRequest: {
            /** @example node-1 */
            host: string;
            /** @example k8s-pod-network.4f1c */
            handle: string;
            /**
             * @description Absent means 'Workload'.
             * @enum {string}
             */
            use?: "Workload" | "Tunnel" | "LoadBalancer";
            ipv4?: components["schemas"]["FamilyRequest"];
            ipv6?: components["schemas"]["FamilyRequest"];
            attributes?: {
                [key: string]: string;
            };
            namespace?: components["schemas"]["NamespaceRef"];
            maxPerHandle?: number;
            maxBlocksPerHost?: number;
            hostReserved?: components["schemas"]["HostReservedByFamily"];
            /** @description Absent means False. */
            partial?: boolean;
            /**
             * @description Absent means 'active'.
             * @enum {string}
             */
            ownerSlot?: "active" | "alternate";
            /**
             * @description Absent means 'auto'.
             * @enum {string}
             */
            leakCollection?: "auto" | "never";
            /** @description Absent means False. */
            explain?: boolean;
        };
        FamilyRequest: {
            count: number;
            pools?: string[];
        };
        NamespaceRef: {
            name: string;
            labels?: {
                [key: string]: string;
            };
        };
        HostReservedByFamily: {
            ipv4?: components["schemas"]["HostReserved"];
            ipv6?: components["schemas"]["HostReserved"];
        };
        HostReserved: {
            start: number;
            end: number;
            /** @example k8s-pod-network.4f1c */
            handle?: string;
            note?: string;
        };
        AllocationResult: {
            allocations: components["schemas"]["Allocation"][];
            shortfall: components["schemas"]["Shortfall"][];
            replayed: boolean;
            reused: boolean;
            explanation?: components["schemas"]["Explanation"];
        };
        Explanation: {
            wouldSucceed: boolean;
            /** Format: int64 */
            policyRevision: number;
            hostKnown: boolean;
            hostLabels: {
                [key: string]: string;
            };
            strictAffinity: boolean;
            autoAllocateBlocks: boolean;
            families: components["schemas"]["FamilyExplanation"][];
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            asOf: string;
        };
        FamilyExplanation: {
            /** @enum {integer} */
            family: 4 | 6;
            requested: number;
            /** @description what a request would get now */
            allocated: number;
            code?: string;
            retryAfterSeconds?: number;
            ownedBlocks: number;
            blockCap: number;
            considered: components["schemas"]["Considered"][];
            consideredOmitted: number;
        };
        AssignRequest: {
            /** @example node-1 */
            host: string;
            /** @example k8s-pod-network.4f1c */
            handle: string;
            /**
             * @description Absent means 'Workload'.
             * @enum {string}
             */
            use?: "Workload" | "Tunnel" | "LoadBalancer";
            attributes?: {
                [key: string]: string;
            };
            maxPerHandle?: number;
            /**
             * @description Absent means 'auto'.
             * @enum {string}
             */
            leakCollection?: "auto" | "never";
        };
        ReleaseAddress: {
            /**
             * @description IPv4 or IPv6 address; any RFC 4291 spelling in, RFC 5952 out
             * @example 10.244.3.17
             */
            address: string;
            /** @example k8s-pod-network.4f1c */
            handle?: string;
            /** Format: int64 */
            sequenceNumber?: number;
        };
        ReleaseOutcome: {
            /**
             * @description IPv4 or IPv6 address; any RFC 4291 spelling in, RFC 5952 out
             * @example 10.244.3.17
             */
            address: string;
            handle?: string;
            /** @description open set: released, already_free, not_in_any_block, rejected; ignore values you do not know */
            outcome: string;
            code?: string;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            freeAt?: string;
            /** Format: int64 */
            sequenceNumber?: number;
        };
        ReleaseRequest: {
            handles?: string[];
            addresses?: components["schemas"]["ReleaseAddress"][];
            /** @description admin only: release addresses without handle or sequence number Absent means False. */
            force?: boolean;
        };
        ReleaseResult: {
            released: number;
            alreadyFree: number;
            rejected: number;
            results: components["schemas"]["ReleaseOutcome"][];
        };
        AddressView: {
            /**
             * @description IPv4 or IPv6 address; any RFC 4291 spelling in, RFC 5952 out
             * @example 10.244.3.17
             */
            address: string;
            /** @enum {integer} */
            family: 4 | 6;
            /** @description open set: free, allocated, cooling, host_reserved, no_block, not_in_any_pool; ignore values you do not know */
            state: string;
            /** @description could be handed out automatically now */
            allocatable?: boolean;
            /** @description why not: allocated, cooling, reserved, host_reserved, pool_disabled, pool_draining, manual_only, block_draining, no_pool */
            reason?: string;
            pool?: string;
            block?: string;
            blockOwner?: string;
            reservations: string[];
            allocation?: components["schemas"]["Allocation"];
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            freeAt?: string;
            leak?: components["schemas"]["Leak"];
            tenures: components["schemas"]["Tenure"][];
            tenuresComplete: boolean;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            asOf: string;
        };
        Leak: {
            /**
             * @description IPv4 or IPv6 address; any RFC 4291 spelling in, RFC 5952 out
             * @example 10.244.3.17
             */
            address: string;
            handle: string;
            host: string;
            pool?: string;
            /** @description open set: workload, vm, tunnel, load_balancer, external; ignore values you do not know */
            kind?: string;
            /** @description open set: candidate, confirmed, held, released; ignore values you do not know */
            state: string;
            /** @description open set: grace_period, evidence_stale, evidence_never, handle_partly_alive, breaker_open, paused, host_removing, none, awaiting_recheck, too_young, release_limit, unreadable; ignore values you do not know */
            reason?: string;
            detail?: string;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            firstAbsentAt: string;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            lastAbsentAt: string;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            releasableAt?: string;
            observations: number;
            attributes?: {
                [key: string]: string;
            };
            /** Format: int64 */
            sequenceNumber: number;
        };
        Tenure: {
            host: string;
            handle?: string;
            attributes?: {
                [key: string]: string;
            };
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            allocatedAt: string;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            releasedAt?: string;
            /** @description open set: caller, collector, drain, operator; ignore values you do not know */
            releasedBy?: string;
            /** Format: int64 */
            sequenceNumber?: number;
        };
        OwnerChangeRequest: {
            /** @example k8s-pod-network.4f1c */
            handle: string;
            /** @enum {string} */
            change: "promote" | "clear";
            owner: components["schemas"]["OwnerRef"];
            /** @description Absent means False. */
            releaseWhenUnowned?: boolean;
        };
        OwnerRef: {
            namespace: string;
            pod: string;
        };
        OwnerChangeResult: {
            changed: number;
            unchanged: number;
            released: number;
            allocations?: components["schemas"]["Allocation"][];
        };
        OwnerUpdate: {
            /** @example k8s-pod-network.4f1c */
            handle: string;
            setActive?: {
                [key: string]: string;
            };
            /** @description Absent means False. */
            clearActive?: boolean;
            setAlternate?: {
                [key: string]: string;
            };
            /** @description Absent means False. */
            clearAlternate?: boolean;
            expectActive?: components["schemas"]["OwnerRef"];
            /** @description Absent means False. */
            expectActiveEmpty?: boolean;
            expectAlternate?: components["schemas"]["OwnerRef"];
            /** @description Absent means False. */
            expectAlternateEmpty?: boolean;
        };
        BatchItem: {
            key: string;
            /** @example k8s-pod-network.4f1c */
            handle: string;
            ipv4?: components["schemas"]["FamilyRequest"];
            ipv6?: components["schemas"]["FamilyRequest"];
            attributes?: {
                [key: string]: string;
            };
            namespace?: components["schemas"]["NamespaceRef"];
            maxPerHandle?: number;
        };
        BatchItemResult: {
            key: string;
            status: number;
            allocations: components["schemas"]["Allocation"][];
            replayed?: boolean;
            problem?: components["schemas"]["Problem"];
        };
        BatchRequest: {
            /** @example node-1 */
            host: string;
            /**
             * @description Absent means 'Workload'.
             * @enum {string}
             */
            use?: "Workload" | "Tunnel" | "LoadBalancer";
            items: components["schemas"]["BatchItem"][];
        };
        BatchResult: {
            results: components["schemas"]["BatchItemResult"][];
        };
        Config: {
            strictAffinity: boolean;
            autoAllocateBlocks: boolean;
            maxBlocksPerHost: number;
            /** @description 20 where maxBlocksPerHost is 0 */
            effectiveMaxBlocksPerHost: number;
            /** @description open set: Enabled, Disabled; ignore values you do not know */
            kubeVirtVMAddressPersistence: string;
            ipCooldownSeconds: number;
            maintenance: boolean;
            maintenanceReason?: string;
            /** @description 900 unless set */
            leakGraceSeconds?: number;
            /** @description 300 unless set */
            staleReportSeconds?: number;
            /** Format: int64 */
            revision: number;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            updatedAt: string;
            updatedBy?: string;
        };
        ConfigPatch: {
            strictAffinity?: boolean;
            autoAllocateBlocks?: boolean;
            maxBlocksPerHost?: number;
            /** @enum {string} */
            kubeVirtVMAddressPersistence?: "Enabled" | "Disabled";
            ipCooldownSeconds?: number;
            maintenance?: boolean;
            maintenanceReason?: string;
            leakGraceSeconds?: number;
            staleReportSeconds?: number;
        };
        Drain: {
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            startedAt: string;
            allocated: number;
            cooling: number;
            blocks: number;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            lastFreeAt?: string;
        };
        Pool: {
            name: string;
            /**
             * @description masked CIDR
             * @example 10.244.3.0/26
             */
            cidr: string;
            /** @enum {integer} */
            family: 4 | 6;
            blockSize: number;
            disabled: boolean;
            /** @description open set: Automatic, Manual; ignore values you do not know */
            assignmentMode: string;
            allowedUses: string[];
            nodeSelector: string;
            namespaceSelector: string;
            ipipMode: string;
            vxlanMode: string;
            natOutgoing: boolean;
            disableBGPExport: boolean;
            /**
             * @description IPv4 or IPv6 address; any RFC 4291 spelling in, RFC 5952 out
             * @example 10.244.3.17
             */
            gateway?: string;
            /** @description open set: block, pool, host; ignore values you do not know */
            answerPrefix?: string;
            warnAtPercent: number;
            description?: string;
            /** @description open set: active, disabled, draining, deleted; ignore values you do not know */
            state: string;
            drain?: components["schemas"]["Drain"];
            usage: components["schemas"]["PoolUsage"];
            /** Format: int64 */
            revision: number;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            updatedAt: string;
            updatedBy?: string;
        };
        PoolUsage: {
            pool: string;
            /**
             * @description masked CIDR
             * @example 10.244.3.0/26
             */
            cidr: string;
            /** @enum {integer} */
            family: 4 | 6;
            /**
             * @description decimal count; a string because IPv6 counts exceed 2^53
             * @example 65536
             */
            capacity: string;
            /**
             * @description decimal count; a string because IPv6 counts exceed 2^53
             * @example 65536
             */
            allocated: string;
            /**
             * @description decimal count; a string because IPv6 counts exceed 2^53
             * @example 65536
             */
            cooling: string;
            /**
             * @description decimal count; a string because IPv6 counts exceed 2^53
             * @example 65536
             */
            reserved: string;
            /**
             * @description decimal count; a string because IPv6 counts exceed 2^53
             * @example 65536
             */
            available: string;
            /** @description 100 x (capacity - available) / capacity, rounded down to two decimals */
            usedPercent: number;
            blocks: number;
            blocksFull: number;
            blocksUnowned: number;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            nextFreeAt?: string;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            asOf: string;
            /** @description false: from the pool's directory, at most a few seconds old */
            exact: boolean;
        };
        PoolList: {
            items: components["schemas"]["Pool"][];
            nextCursor?: string;
        };
        PoolPatch: {
            disabled?: boolean;
            /** @enum {string} */
            assignmentMode?: "Automatic" | "Manual";
            allowedUses?: ("Workload" | "Tunnel" | "LoadBalancer")[];
            nodeSelector?: string;
            namespaceSelector?: string;
            /** @enum {string} */
            ipipMode?: "Never" | "Always" | "CrossSubnet";
            /** @enum {string} */
            vxlanMode?: "Never" | "Always" | "CrossSubnet";
            natOutgoing?: boolean;
            disableBGPExport?: boolean;
            /**
             * @description IPv4 or IPv6 address; any RFC 4291 spelling in, RFC 5952 out
             * @example 10.244.3.17
             */
            gateway?: string;
            /** @enum {string} */
            answerPrefix?: "block" | "pool" | "host";
            warnAtPercent?: number;
            description?: string;
            /** @description false cancels a drain */
            draining?: boolean;
        };
        PoolSpec: {
            /**
             * @description masked CIDR
             * @example 10.244.3.0/26
             */
            cidr: string;
            blockSize?: number;
            /** @description Absent means False. */
            disabled?: boolean;
            /**
             * @description Absent means 'Automatic'.
             * @enum {string}
             */
            assignmentMode?: "Automatic" | "Manual";
            allowedUses?: ("Workload" | "Tunnel" | "LoadBalancer")[];
            /** @description Absent means 'all()'. */
            nodeSelector?: string;
            /** @description Absent means ''. */
            namespaceSelector?: string;
            /**
             * @description Absent means 'Never'.
             * @enum {string}
             */
            ipipMode?: "Never" | "Always" | "CrossSubnet";
            /**
             * @description Absent means 'Never'.
             * @enum {string}
             */
            vxlanMode?: "Never" | "Always" | "CrossSubnet";
            /** @description Absent means False. */
            natOutgoing?: boolean;
            /** @description Absent means False. */
            disableBGPExport?: boolean;
            /**
             * @description IPv4 or IPv6 address; any RFC 4291 spelling in, RFC 5952 out
             * @example 10.244.3.17
             */
            gateway?: string;
            /**
             * @description Absent means 'block'.
             * @enum {string}
             */
            answerPrefix?: "block" | "pool" | "host";
            /** @description Absent means 90. */
            warnAtPercent?: number;
            description?: string;
        };
        Reservation: {
            name: string;
            reservedCIDRs: string[];
            reason?: string;
            /** @description allocated before the reservation; they stay */
            addressesAllocatedInside: number;
            /** Format: int64 */
            revision: number;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            updatedAt: string;
            updatedBy?: string;
        };
        ReservationList: {
            items: components["schemas"]["Reservation"][];
            nextCursor?: string;
        };
        ReservationSpec: {
            reservedCIDRs: string[];
            reason?: string;
        };
        SplitRequest: {
            parts: number;
        };
        Utilization: {
            items: components["schemas"]["PoolUsage"][];
            nextCursor?: string;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            asOf: string;
        };
        FamilyReadiness: {
            /** @description a pool of this family selects the host */
            wanted: boolean;
            ready: boolean;
            code?: string;
            hint?: string;
            availableInOwnBlocks?: number;
            canClaim?: boolean;
            canBorrow?: boolean;
        };
        Host: {
            name: string;
            /** @description open set: host, virtual; ignore values you do not know */
            kind: string;
            /** @description open set: active, silent, removing; ignore values you do not know */
            state: string;
            labels: {
                [key: string]: string;
            };
            incarnation?: string;
            report: components["schemas"]["HostReport"];
            ipv4: components["schemas"]["HostFamily"];
            ipv6: components["schemas"]["HostFamily"];
            tunnels: components["schemas"]["Tunnel"][];
            leaks: components["schemas"]["LeakCounts"];
            refusals: components["schemas"]["RefusalCounts"];
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            registeredAt: string;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            removingSince?: string;
            allocationsLeft?: number;
            /** @description of these, what no collector releases: the removal waits for somebody to */
            allocationsKept?: number;
            /** @description some handles of these */
            handlesKept?: string[];
            /** Format: int64 */
            revision: number;
        };
        HostReport: {
            /** @description open set: fresh, stale, never; ignore values you do not know */
            state: string;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            lastAt?: string;
            ageSeconds?: number;
            /** Format: int64 */
            sequence?: number;
            complete?: boolean;
            workloads: number;
            addressesNotAllocated?: number;
        };
        HostFamily: {
            /** @description pools that select this host now */
            pools: string[];
            /** @description confirmed blocks */
            owned: number;
            cap: number;
            pending: number;
            borrowedIn: number;
            borrowedOut: number;
            capacity: number;
            allocated: number;
            cooling: number;
            reserved: number;
            /** @description in own blocks */
            available: number;
        };
        Tunnel: {
            /** @description open set: ipip, vxlan, vxlan-v6, wireguard, wireguard-v6; ignore values you do not know */
            kind: string;
            /**
             * @description IPv4 or IPv6 address; any RFC 4291 spelling in, RFC 5952 out
             * @example 10.244.3.17
             */
            address: string;
            interfaceAddress?: string;
            handle: string;
            pool?: string;
            /** @description open set: kept, assigned, replaced, adopted; ignore values you do not know */
            action?: string;
            /** Format: int64 */
            sequenceNumber?: number;
        };
        LeakCounts: {
            candidates: number;
            confirmed: number;
            held: number;
        };
        RefusalCounts: {
            last10Minutes: number;
            lastCode?: string;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            lastAt?: string;
        };
        HostList: {
            items: components["schemas"]["Host"][];
            nextCursor?: string;
        };
        HostReadiness: {
            host: string;
            ready: boolean;
            ipv4: components["schemas"]["FamilyReadiness"];
            ipv6: components["schemas"]["FamilyReadiness"];
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            asOf?: string;
        };
        HostSpec: {
            labels: {
                [key: string]: string;
            };
            /** @description changes when the machine is re-imaged, e.g. the boot or machine id */
            incarnation?: string;
        };
        Affinity: {
            /** @description open set: host, virtual; ignore values you do not know */
            type: string;
            name: string;
            /** @description open set: pending, confirmed, pendingDeletion; ignore values you do not know */
            state: string;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            claimedAt?: string;
        };
        Block: {
            /**
             * @description the CIDR with / written -; use it in paths
             * @example 10.244.3.0-26
             */
            name: string;
            /**
             * @description masked CIDR
             * @example 10.244.3.0/26
             */
            cidr: string;
            pool: string;
            /** @enum {integer} */
            family: 4 | 6;
            affinity?: components["schemas"]["Affinity"];
            capacity: number;
            allocated: number;
            cooling: number;
            hostReserved?: number;
            reserved: number;
            available: number;
            borrowed: number;
            /** Format: int64 */
            sequenceNumber: number;
            /** Format: int64 */
            epoch: number;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            nextFreeAt?: string;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            asOf: string;
            exact: boolean;
            /** @description one character per ordinal: . free, # allocated, b borrowed, c cooling, r reserved, w host-reserved */
            map?: string;
        };
        BlockList: {
            items: components["schemas"]["Block"][];
            nextCursor?: string;
        };
        Route: {
            /**
             * @description masked CIDR
             * @example 10.244.3.0/26
             */
            destination: string;
            host: string;
            /** @description open set: block, borrowed; ignore values you do not know */
            kind: string;
            /** @enum {integer} */
            family: 4 | 6;
            pool?: string;
        };
        RouteList: {
            items: components["schemas"]["Route"][];
            /** Format: int64 */
            revision: number;
            nextCursor?: string;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            asOf: string;
        };
        AffinityClaimRequest: {
            /** @example node-1 */
            host: string;
            /**
             * @description masked CIDR
             * @example 10.244.3.0/26
             */
            cidr: string;
        };
        AffinityOutcome: {
            /**
             * @description masked CIDR
             * @example 10.244.3.0/26
             */
            block: string;
            /** @description open set: claimed, already_owned, released, skipped; ignore values you do not know */
            outcome: string;
            code?: string;
            owner?: string;
        };
        AffinityReleaseRequest: {
            /** @example node-1 */
            host?: string;
            /**
             * @description masked CIDR
             * @example 10.244.3.0/26
             */
            cidr?: string;
            /** @example default */
            pool?: string;
            /** @description Absent means True. */
            mustBeEmpty?: boolean;
            cursor?: string;
        };
        AffinityResult: {
            results: components["schemas"]["AffinityOutcome"][];
            nextCursor?: string;
        };
        EnsureBlocksRequest: {
            families: (4 | 6)[];
            hostReserved?: components["schemas"]["HostReservedByFamily"];
        };
        EnsureBlocksResult: {
            ipv4?: components["schemas"]["Block"];
            ipv6?: components["schemas"]["Block"];
        };
        Health: {
            ok: boolean;
        };
        Ready: {
            ready: boolean;
            checks: components["schemas"]["ReadyCheck"][];
        };
        ReadyCheck: {
            name: string;
            ok: boolean;
            detail?: string;
        };
        WhoAmI: {
            subject: string;
            /** @description open set: admin, reader, agent, anonymous; ignore values you do not know */
            role: string;
            host?: string;
            /** @description open set: token, jwt, none; ignore values you do not know */
            method?: string;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            expiresAt?: string;
        };
        HostCounts: {
            active: number;
            silent: number;
            removing: number;
            reportsStale?: number;
            reportsNever?: number;
        };
        Status: {
            ready: boolean;
            /** @example 1.0 */
            apiVersion: string;
            serverVersion?: string;
            deploymentId: string;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            time: string;
            capabilities: string[];
            config: components["schemas"]["Config"];
            warnings: components["schemas"]["Warning"][];
            pools?: components["schemas"]["PoolUsage"][];
            gc?: components["schemas"]["GcStatus"];
            hosts?: components["schemas"]["HostCounts"];
            refusalsLast10Minutes?: number;
        };
        Warning: {
            code: string;
            summary: string;
            pool?: string;
            host?: string;
            hint?: string;
        };
        GcStatus: {
            /** @description open set: idle, running, paused, stuck, breaker_open; ignore values you do not know */
            state: string;
            paused: boolean;
            pausedBy?: string;
            pauseReason?: string;
            /** Format: int64 */
            sweep: number;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z; 1970-01-01T00:00:00.000Z: never
             * @example 2026-11-29T02:51:07.412Z
             */
            lastSweepAt: string;
            lastSweepSeconds?: number;
            oldestAuditSeconds: number;
            oldestAuditHost?: string;
            backlogHosts: number;
            candidates: number;
            confirmed: number;
            held: number;
            releasedLastHour: number;
            hostsStale?: number;
            hostsNeverReported?: number;
            breaker: components["schemas"]["GcBreaker"];
            tick: components["schemas"]["GcTick"];
            lastError?: string;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            lastErrorAt?: string;
        };
        GcBreaker: {
            open: boolean;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            openedAt?: string;
            /** @description a host, or the deployment */
            scope?: string;
            /** @description addresses that were due at once */
            confirmed?: number;
            limitPercent?: number;
        };
        GcTick: {
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z; 1970-01-01T00:00:00.000Z: never
             * @example 2026-11-29T02:51:07.412Z
             */
            lastAt: string;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            nextAt?: string;
            overdue: boolean;
            /** @description open set: cron, alarm, manual; ignore values you do not know */
            source?: string;
        };
        Event: {
            id: string;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            at: string;
            /** @description open set; ignore values you do not know. overload is never written: see refusal with the code overloaded */
            type: string;
            /** @description open set: info, warning, error; ignore values you do not know */
            severity?: string;
            summary?: string;
            actor?: string;
            requestId?: string;
            host?: string;
            pool?: string;
            address?: string;
            code?: string;
            /** @description a refusal event stands for this many requests, leak_released for this many addresses */
            count?: number;
            /**
             * Format: date-time
             * @description RFC 3339, UTC; of a refusal event its first request, of host_silent the host's last report
             * @example 2026-11-29T02:51:07.412Z
             */
            firstAt?: string;
            before?: {
                [key: string]: string;
            };
            after?: {
                [key: string]: string;
            };
            shortfall?: components["schemas"]["Shortfall"][];
        };
        EventList: {
            items: components["schemas"]["Event"][];
            nextCursor?: string;
        };
        Check: {
            id: string;
            /** @description open set: running, done, failed; ignore values you do not know */
            state: string;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            startedAt?: string;
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            finishedAt?: string;
            problems: number;
            repaired: number;
            blocksChecked: number;
            blocksTotal: number;
            findings: components["schemas"]["CheckFinding"][];
            nextCursor?: string;
        };
        CheckFinding: {
            /** @description open set: index, directory, affinity, block, leak, unallocated_use; ignore values you do not know */
            kind: string;
            problem: string;
            block?: string;
            address?: string;
            handle?: string;
            host?: string;
            repaired?: boolean;
        };
        CheckRequest: {
            /** @example default */
            pool?: string;
            /** @example node-1 */
            host?: string;
            /** @description Absent means False. */
            repair?: boolean;
        };
        GcAcknowledgement: {
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            breakerOpenedAt: string;
        };
        GcPatch: {
            paused?: boolean;
            reason?: string;
        };
        SweepAccepted: {
            /** Format: int64 */
            sweep: number;
        };
        AttachmentGcRequest: {
            network: string;
            /** @description all of them: a handle of the network that is left out counts as gone */
            validHandles: string[];
        };
        AttachmentGcResult: {
            released: number;
            held: number;
            results: components["schemas"]["GcOutcome"][];
        };
        GcOutcome: {
            handle: string;
            /** @description open set: released, candidate, held; ignore values you do not know */
            outcome: string;
            /** @description open set: those of Leak, in_use_by_other_evidence, and for too_young allocated_less_than_120_s_ago */
            reason?: string;
            addresses?: string[];
        };
        LeakList: {
            items: components["schemas"]["Leak"][];
            nextCursor?: string;
        };
        ReportResult: {
            /**
             * Format: date-time
             * @description RFC 3339, UTC, milliseconds, ends in Z
             * @example 2026-11-29T02:51:07.412Z
             */
            observedAt: string;
            accepted: boolean;
            addressesNotAllocated: components["schemas"]["UnallocatedUse"][];
            leaks: components["schemas"]["LeakCounts"];
            nextReportWithinSeconds: number;
        };
        UnallocatedUse: {
            /**
             * @description IPv4 or IPv6 address; any RFC 4291 spelling in, RFC 5952 out
             * @example 10.244.3.17
             */
            address: string;
            /** @description open set: free, cooling, allocated, reserved, not_in_any_pool, unknown */
            state: string;
            handle?: string;
            /** @description host that the service thinks holds it */
            holder?: string;
        };
        Workload: {
            /** @example k8s-pod-network.4f1c */
            handle?: string;
            namespace?: string;
            pod?: string;
            uid?: string;
            /** @description [] where it has none yet: then its namespace and pod count */
            addresses: string[];
        };
        WorkloadReport: {
            incarnation: string;
            /** Format: int64 */
            sequence: number;
            /** @description how long ago the agent began to list, in ms */
            ageMs: number;
            /** @description false: workloads may be missing, so the report can tell of life only */
            complete: boolean;
            workloads: components["schemas"]["Workload"][];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    getReady: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ready"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getStatus: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Status"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    whoAmI: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhoAmI"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getConfig: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Config"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    updateConfig: {
        parameters: {
            query?: never;
            header?: {
                /** @description revision, as "12" or 12 */
                "If-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ConfigPatch"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Config"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused: the state does not allow it */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Revision does not match */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listPools: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PoolList"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getPool: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                pool: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pool"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    putPool: {
        parameters: {
            query?: never;
            header?: {
                /** @description revision, as "12" or 12 */
                "If-Match"?: string;
                "If-None-Match"?: string;
            };
            path: {
                pool: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PoolSpec"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pool"];
                };
            };
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pool"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused: the state does not allow it */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Revision does not match */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    drainPool: {
        parameters: {
            query?: never;
            header?: {
                /** @description revision, as "12" or 12 */
                "If-Match"?: string;
            };
            path: {
                pool: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pool"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Revision does not match */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    updatePool: {
        parameters: {
            query?: never;
            header?: {
                /** @description revision, as "12" or 12 */
                "If-Match"?: string;
            };
            path: {
                pool: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PoolPatch"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pool"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused: the state does not allow it */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Revision does not match */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    splitPool: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                pool: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SplitRequest"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PoolList"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused: the state does not allow it */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getUtilization: {
        parameters: {
            query?: {
                pool?: string;
                exact?: boolean;
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Utilization"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listReservations: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReservationList"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getReservation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                reservation: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reservation"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    putReservation: {
        parameters: {
            query?: never;
            header?: {
                /** @description revision, as "12" or 12 */
                "If-Match"?: string;
                "If-None-Match"?: string;
            };
            path: {
                reservation: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReservationSpec"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reservation"];
                };
            };
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reservation"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused: the state does not allow it */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Revision does not match */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteReservation: {
        parameters: {
            query?: never;
            header?: {
                /** @description revision, as "12" or 12 */
                "If-Match"?: string;
            };
            path: {
                reservation: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No content */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Revision does not match */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listHosts: {
        parameters: {
            query?: {
                report?: string;
                state?: string;
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HostList"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getHost: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                host: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Host"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    putHost: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                host: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["HostSpec"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Host"];
                };
            };
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Host"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused: the state does not allow it */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    removeHost: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                host: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Host"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getHostReadiness: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                host: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HostReadiness"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    ensureBlocks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                host: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EnsureBlocksRequest"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EnsureBlocksResult"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused: the state does not allow it */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    reportWorkloads: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                host: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WorkloadReport"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReportResult"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused: the state does not allow it */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    collectAttachments: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Timeout-Ms"?: number;
            };
            path: {
                host: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AttachmentGcRequest"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AttachmentGcResult"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused: the state does not allow it */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listAllocations: {
        parameters: {
            query?: {
                host?: string;
                pool?: string;
                block?: string;
                handle?: string;
                namespace?: string;
                pod?: string;
                state?: string;
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AllocationList"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    allocate: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Request-Timeout-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AllocationRequest"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AllocationResult"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused: the state does not allow it */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Idempotency key reused */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    allocateBatch: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Timeout-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BatchRequest"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BatchResult"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused: the state does not allow it */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    explainAllocation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AllocationRequest"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Explanation"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getAllocation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description IPv4 or IPv6 address; any RFC 4291 spelling in, RFC 5952 out */
                address: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Allocation"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    assignAddress: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Request-Timeout-Ms"?: number;
            };
            path: {
                /** @description IPv4 or IPv6 address; any RFC 4291 spelling in, RFC 5952 out */
                address: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AssignRequest"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Allocation"];
                };
            };
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Allocation"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused: the state does not allow it */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Idempotency key reused */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    releaseAddress: {
        parameters: {
            query?: {
                handle?: string;
                sequenceNumber?: number;
                force?: boolean;
            };
            header?: never;
            path: {
                /** @description IPv4 or IPv6 address; any RFC 4291 spelling in, RFC 5952 out */
                address: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReleaseOutcome"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused: the state does not allow it */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    updateOwners: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description IPv4 or IPv6 address; any RFC 4291 spelling in, RFC 5952 out */
                address: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OwnerUpdate"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Allocation"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused: the state does not allow it */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    changeOwner: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OwnerChangeRequest"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnerChangeResult"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused: the state does not allow it */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    release: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Timeout-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReleaseRequest"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReleaseResult"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getHandle: {
        parameters: {
            query?: {
                cursor?: string;
            };
            header?: never;
            path: {
                handle: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AllocationList"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    releaseHandle: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                handle: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReleaseResult"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getAddress: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description IPv4 or IPv6 address; any RFC 4291 spelling in, RFC 5952 out */
                address: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AddressView"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listBlocks: {
        parameters: {
            query?: {
                pool?: string;
                host?: string;
                owned?: boolean;
                exact?: boolean;
                map?: boolean;
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BlockList"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getBlock: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                block: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    claimAffinities: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AffinityClaimRequest"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AffinityResult"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused: the state does not allow it */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    releaseAffinities: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AffinityReleaseRequest"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AffinityResult"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused: the state does not allow it */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listRoutes: {
        parameters: {
            query?: {
                pool?: string;
                host?: string;
                waitSeconds?: number;
                limit?: number;
                cursor?: string;
            };
            header?: {
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RouteList"];
                };
            };
            /** @description Not modified */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getGc: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GcStatus"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    updateGc: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GcPatch"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GcStatus"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    startSweep: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SweepAccepted"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused: the state does not allow it */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    acknowledgeBreaker: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GcAcknowledgement"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GcStatus"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused: the state does not allow it */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listLeaks: {
        parameters: {
            query?: {
                host?: string;
                pool?: string;
                state?: string;
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LeakList"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listEvents: {
        parameters: {
            query?: {
                type?: string;
                host?: string;
                pool?: string;
                code?: string;
                severity?: string;
                /** @description RFC 3339, UTC, milliseconds, ends in Z */
                since?: string;
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventList"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    startCheck: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CheckRequest"];
            };
        };
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Check"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused: the state does not allow it */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getCheck: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                check: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Check"];
                };
            };
            /** @description Invalid request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests from this caller */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
