/* What Vulkan itself takes for launches of one work-group, without Python: `cc -O2 floor.c -lvulkan`, argument: SPIR-V of a
   shader with one storage buffer of 64 floats at binding 0, to each of which it adds 1.

   Speaks the protocol of serve.py as far as it needs to: requests are told apart by the words in them.  Command buffers are
   recorded once; a run submits and waits for a fence. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vulkan/vulkan.h>

enum { ITEMS = 64, MOST_LAUNCHES = 1000000, MOST_TIMED = 1000 };

static VkDevice device;
static VkQueue queue;
static VkFence fence;
static VkCommandBuffer one, many;
static VkPipeline pipeline;
static VkPipelineLayout layout;
static VkDescriptorSet set;
static float *memory;

static void must(VkResult result, const char *what) {
    if (result != VK_SUCCESS) {
        printf("{\"error\": \"%s: VkResult %d\"}\n", what, (int)result);
        fflush(stdout);
        exit(1);
    }
}

static double seconds_of(clockid_t id) {
    struct timespec clock;
    clock_gettime(id, &clock);
    return (double)clock.tv_sec + 1e-9 * (double)clock.tv_nsec;
}

static VkPhysicalDevice make_device(VkPhysicalDeviceProperties *properties) {
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
    VkInstanceCreateInfo instance_info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
    VkInstance instance;
    must(vkCreateInstance(&instance_info, NULL, &instance), "vkCreateInstance");
    VkPhysicalDevice physical;
    uint32_t count = 1;
    VkResult listed = vkEnumeratePhysicalDevices(instance, &count, &physical);
    must(listed == VK_INCOMPLETE ? VK_SUCCESS : listed, "vkEnumeratePhysicalDevices");
    must(count ? VK_SUCCESS : VK_ERROR_INITIALIZATION_FAILED, "no Vulkan device");
    vkGetPhysicalDeviceProperties(physical, properties);
    float priority = 1;
    VkDeviceQueueCreateInfo queue_info = { /* family 0, which computes on all drivers that this is for */
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
    VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue_info};
    must(vkCreateDevice(physical, &info, NULL, &device), "vkCreateDevice");
    vkGetDeviceQueue(device, 0, 0, &queue);
    return physical;
}

static VkBuffer make_buffer(VkPhysicalDevice physical) {
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = ITEMS * sizeof(float),
                               .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    VkBuffer buffer;
    must(vkCreateBuffer(device, &info, NULL, &buffer), "vkCreateBuffer");
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(device, buffer, &needs);
    VkPhysicalDeviceMemoryProperties kinds;
    vkGetPhysicalDeviceMemoryProperties(physical, &kinds);
    VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    uint32_t kind = 0;
    while (kind < kinds.memoryTypeCount &&
           !((needs.memoryTypeBits >> kind & 1) && (kinds.memoryTypes[kind].propertyFlags & wanted) == wanted))
        kind++;
    VkMemoryAllocateInfo allocation = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size, .memoryTypeIndex = kind};
    VkDeviceMemory block;
    must(vkAllocateMemory(device, &allocation, NULL, &block), "vkAllocateMemory");
    must(vkBindBufferMemory(device, buffer, block, 0), "vkBindBufferMemory");
    must(vkMapMemory(device, block, 0, VK_WHOLE_SIZE, 0, (void **)&memory), "vkMapMemory");
    memset(memory, 0, ITEMS * sizeof(float));
    return buffer;
}

static void make_pipeline(const char *path) {
    static uint32_t words[65536];
    FILE *file = fopen(path, "rb");
    must(file ? VK_SUCCESS : VK_ERROR_UNKNOWN, "the shader cannot be read");
    size_t bytes = fread(words, 1, sizeof words, file);
    fclose(file);
    VkShaderModuleCreateInfo module_info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = bytes, .pCode = words};
    VkShaderModule module;
    must(vkCreateShaderModule(device, &module_info, NULL, &module), "vkCreateShaderModule");
    VkDescriptorSetLayoutBinding binding = {.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                            .descriptorCount = 1,
                                            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    VkDescriptorSetLayoutCreateInfo set_info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 1, .pBindings = &binding};
    VkDescriptorSetLayout set_layout;
    must(vkCreateDescriptorSetLayout(device, &set_info, NULL, &set_layout), "vkCreateDescriptorSetLayout");
    VkPipelineLayoutCreateInfo layout_info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1, .pSetLayouts = &set_layout};
    must(vkCreatePipelineLayout(device, &layout_info, NULL, &layout), "vkCreatePipelineLayout");
    VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                  .module = module,
                                                  .pName = "main"},
                                        .layout = layout};
    must(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline), "vkCreateComputePipelines");
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    VkDescriptorPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                            .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
    VkDescriptorPool pool;
    must(vkCreateDescriptorPool(device, &pool_info, NULL, &pool), "vkCreateDescriptorPool");
    VkDescriptorSetAllocateInfo allocation = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                              .descriptorPool = pool, .descriptorSetCount = 1,
                                              .pSetLayouts = &set_layout};
    must(vkAllocateDescriptorSets(device, &allocation, &set), "vkAllocateDescriptorSets");
}

static void bind_buffer(VkBuffer buffer) {
    VkDescriptorBufferInfo range = {buffer, 0, VK_WHOLE_SIZE};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstSet = set,
                                  .descriptorCount = 1, .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = &range};
    vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
}

static void make_commands(void) {
    VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                         .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT};
    VkCommandPool pool;
    must(vkCreateCommandPool(device, &pool_info, NULL, &pool), "vkCreateCommandPool");
    VkCommandBufferAllocateInfo allocation = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 1};
    must(vkAllocateCommandBuffers(device, &allocation, &one), "vkAllocateCommandBuffers");
    must(vkAllocateCommandBuffers(device, &allocation, &many), "vkAllocateCommandBuffers");
    VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    must(vkCreateFence(device, &fence_info, NULL, &fence), "vkCreateFence");
}

/* Every dispatch waits for the one before: they write one buffer. */
static void record(VkCommandBuffer commands, int dispatches) {
    VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                               .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                               .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};
    must(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
    for (int i = 0; i < dispatches; i++) {
        vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0,
                             1, &barrier, 0, NULL, 0, NULL);
        vkCmdDispatch(commands, 1, 1, 1);
    }
    must(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
}

static void submit(VkCommandBuffer commands, int waits) {
    VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
    must(vkQueueSubmit(queue, 1, &info, waits ? fence : VK_NULL_HANDLE), "vkQueueSubmit");
    if (waits) {
        must(vkWaitForFences(device, 1, &fence, VK_TRUE, UINT64_MAX), "vkWaitForFences");
        must(vkResetFences(device, 1, &fence), "vkResetFences");
    }
}

static int number(const char *request, const char *name) {
    const char *found = strstr(request, name);
    int value = found ? atoi(found + strlen(name)) : 0;
    return value < 0 ? 0 : value > MOST_LAUNCHES ? MOST_LAUNCHES : value;
}

static void write_result(const char *request, long runs) {
    static const char header[] = "\x93NUMPY\x01\x00"; /* of an .npy file; its length and text follow */
    char path[4096], text[118];
    const char *start = strstr(request, "\"path\": \"");
    if (!start || sscanf(start + 9, "%4095[^\"]", path) != 1) must(VK_ERROR_UNKNOWN, "a result without a path");
    memset(text, ' ', sizeof text);
    int length = snprintf(text, sizeof text, "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }", ITEMS);
    text[length] = ' ';
    text[sizeof text - 1] = '\n';
    unsigned char bytes[2] = {sizeof text, 0};
    FILE *file = fopen(path, "wb");
    must(file ? VK_SUCCESS : VK_ERROR_UNKNOWN, "the result cannot be written");
    fwrite(header, 1, 8, file);
    fwrite(bytes, 1, 2, file);
    fwrite(text, 1, sizeof text, file);
    fwrite(memory, sizeof(float), ITEMS, file);
    fclose(file);
    printf("{\"runs\": %ld}\n", runs);
}

enum kind { NONE, WAITED, PIPELINED, NODES };

static void run(enum kind kind, int launches) {
    if (kind == NODES) submit(many, 1);
    else
        for (int i = 0; i < launches; i++) submit(one, kind == WAITED || i == launches - 1);
}

static void write_numbers(const char *name, const double *values, int count) {
    printf("\"%s\": [", name);
    for (int i = 0; i < count; i++) printf("%s%.9f", i ? ", " : "", values[i]);
    printf("]");
}

static void measure(const char *request, enum kind kind, int launches, long *runs) {
    static double seconds[MOST_TIMED], cpu[MOST_TIMED];
    int untimed = number(request, "\"untimed\": "), timed = number(request, "\"timed\": ");
    if (timed > MOST_TIMED) timed = MOST_TIMED;
    for (int i = -untimed; i < timed; i++, ++*runs) {
        double cpu_start = seconds_of(CLOCK_PROCESS_CPUTIME_ID), start = seconds_of(CLOCK_MONOTONIC);
        run(kind, launches);
        if (i < 0) continue;
        seconds[i] = seconds_of(CLOCK_MONOTONIC) - start;
        cpu[i] = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_start;
    }
    printf("{");
    write_numbers("seconds", seconds, timed);
    printf(", ");
    write_numbers("cpu_seconds", cpu, timed);
    printf("}\n");
}

int main(int count, char **arguments) {
    static char request[65536];
    enum kind kind = NONE;
    int launches = 0;
    long runs = 0;
    if (count < 2) return 2;
    VkPhysicalDeviceProperties properties;
    VkBuffer buffer = make_buffer(make_device(&properties));
    make_pipeline(arguments[1]);
    bind_buffer(buffer);
    make_commands();
    record(one, 1);
    printf("{\"version\": \"C\", \"device\": \"%s\"}\n", properties.deviceName);
    fflush(stdout);
    while (fgets(request, sizeof request, stdin)) {
        if (strstr(request, "\"prepare\"")) {
            kind = strstr(request, "launch + wait")      ? WAITED
                   : strstr(request, "pipelined launch") ? PIPELINED
                   : strstr(request, "graph node")       ? NODES
                                                         : NONE;
            launches = number(request, "\"launches\": ");
            runs = 0;
            memset(memory, 0, ITEMS * sizeof(float));
            if (kind == NODES) record(many, launches);
            printf(kind == NONE ? "{\"unsupported\": \"only launches\"}\n" : "{}\n");
        } else if (strstr(request, "\"measure\""))
            measure(request, kind, launches, &runs);
        else if (strstr(request, "\"result\""))
            write_result(request, runs);
        else
            printf("{}\n");
        fflush(stdout);
    }
    return 0;
}
